"""Makes the modules beside the fixtures importable: random batches, verl's answers and ours."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("golden")))
