from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec, _probe


@pytest.fixture(scope="session")
def backend() -> LocalBackend:
    return LocalBackend(concurrency=2, allow_unisolated=True)


@pytest.fixture(scope="session")
def unisolated() -> LocalBackend:
    """A backend that takes this machine for one without namespaces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_probe, "candidates", lambda: ())
        backend = LocalBackend(concurrency=2, allow_unisolated=True)
        assert backend.capabilities.tier == "D"
    return backend


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "train.csv").write_text("id,y\n1,2\n")
    (folder / "deep").mkdir()
    (folder / "deep" / "note.txt").write_text("deep\n")
    return folder


@pytest.fixture
async def sandbox(backend: LocalBackend, inputs: Path) -> AsyncIterator[Sandbox]:
    async with await backend.create(SandboxSpec(inputs={"input": inputs})) as sandbox:
        yield sandbox


@pytest.fixture
def isolated(backend: LocalBackend) -> str:
    found = backend.capabilities
    if found.tier not in ("A", "B"):
        pytest.skip(f"this machine offers no namespaces: {found.detail}")
    return found.tier
