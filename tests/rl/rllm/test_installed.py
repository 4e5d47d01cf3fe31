"""What rLLM needs is asked for before it is imported."""

import pytest

from sandmle.errors import EnvironmentProblem
from sandmle.rl.rllm.installed import need_rllm


def test_what_rllm_itself_imports_is_named(monkeypatch):
    monkeypatch.setattr("sandmle.rl.rllm.installed.find_spec", lambda name: None if name == "codetiming" else name)
    with pytest.raises(EnvironmentProblem, match=r"^rLLM needs codetiming, which is not installed"):
        need_rllm()
