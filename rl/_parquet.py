"""pyarrow, which the extra ``train`` installs."""

from __future__ import annotations

from typing import Any

from sandmle.errors import EnvironmentProblem

__all__ = ["load_pyarrow"]


def load_pyarrow() -> tuple[Any, Any]:
    """The modules ``pyarrow`` and ``pyarrow.parquet``.

    Raises:
        EnvironmentProblem: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise EnvironmentProblem("pyarrow is not installed: pip install 'sandmle[train]'") from error
    return pyarrow, pyarrow.parquet
