"""The kinds of task that the procedural team makes: one file each, registered when this package is imported."""

from importlib import import_module
from pkgutil import iter_modules

from sandmle.agents.procedural.kinds._kind import (
    Brief,
    Factors,
    PublicColumn,
    PublicFile,
    TaskKind,
    get_kind,
    register,
    task_kinds,
)

__all__ = ["Brief", "Factors", "PublicColumn", "PublicFile", "TaskKind", "get_kind", "register", "task_kinds"]

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")
