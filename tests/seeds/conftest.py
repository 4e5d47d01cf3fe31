from pathlib import Path

import pytest

from sandmle.settings import get_settings


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An empty data folder, so that no test sees or changes the user's own seeds."""
    folder = tmp_path / "data"
    monkeypatch.setenv("SANDMLE_DATA_DIR", str(folder))
    get_settings.cache_clear()
    yield folder
    get_settings.cache_clear()


@pytest.fixture
def folder_seed(tmp_path: Path) -> Path:
    """A folder seed of 40 rows, binary, whose files a test may break."""
    folder = tmp_path / "My Churn"
    folder.mkdir()
    rows = [f"{i},{i * 7 % 13},{'abc'[i % 3]},{'stay' if i % 4 else 'leave'}" for i in range(40)]
    (folder / "description.md").write_text("# Who leaves\n\nCustomers of a shop.\n")
    (folder / "train.csv").write_text("\n".join(["row,visits,plan,outcome", *rows]) + "\n")
    (folder / "test.csv").write_text("row,visits,plan\n100,3,a\n101,5,b\n")
    (folder / "sample_submission.csv").write_text("row,outcome\n100,0.5\n101,0.5\n")
    return folder
