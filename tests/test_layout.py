"""The shape of the repository: links, packages, file sizes, cheap imports, documents, and what a wheel holds."""

import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINKED = ("agents", "eval", "graphs", "prompts", "rl", "sandboxes")
DATA_SUFFIXES = {".py", ".md", ".yaml", ".toml", ".j2", ".mmd", ".typed"}
SOURCE_FOLDERS = (*LINKED, "src/sandmle", "benchmarks")
LINE_LIMIT = 320
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "misc", "common"}
HEAVY = ("pandas", "sklearn", "lightgbm", "langgraph", "langchain_core", "langchain_openai", "langsmith")
DOCUMENTS = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{n}.md" for n in ("design", "concepts", "sandboxes", "task-format")),
    *(f"docs/{n}.md" for n in ("synthesis", "dataset-card", "splits", "fresh-suites", "training")),
)


def source_files(*suffixes):
    """Real files of the packages, each once: the links under src/sandmle are not followed."""
    for folder in SOURCE_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)


def modules_after(code):
    """Names of all modules loaded by ``code`` in a fresh interpreter."""
    report = "import sys; print('\\nMODULES', *sorted(sys.modules))"
    command = [sys.executable, "-c", f"{code}\n{report}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    return set(done.stdout.rsplit("MODULES", 1)[1].split())


@pytest.mark.parametrize("name", LINKED)
def test_each_top_level_package_is_linked(name):
    link = ROOT / "src" / "sandmle" / name
    assert link.is_symlink()
    assert link.readlink() == Path("../..") / name
    assert link.resolve() == ROOT / name
    assert (ROOT / name / "__init__.py").is_file()


def test_there_are_no_other_links():
    links = {path.name for path in (ROOT / "src").rglob("*") if path.is_symlink()}
    assert links == set(LINKED)
    for folder in LINKED:
        assert not [path for path in (ROOT / folder).rglob("*") if path.is_symlink()]


def test_types_are_published():
    assert (ROOT / "src" / "sandmle" / "py.typed").read_bytes() == b""


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in source_files(".py")} - {Path("benchmarks")}
    bare = [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()]
    assert [folder for folder in bare if "templates" not in folder] == []


def test_no_module_has_a_vague_name():
    stems = {str(path): path.stem.strip("_") for path in source_files(".py")}
    assert [path for path, stem in stems.items() if stem in VAGUE_NAMES] == []


def test_files_stay_short():
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in source_files(".py")}
    assert {path: lines for path, lines in lengths.items() if lines > LINE_LIMIT} == {}


def test_no_bare_import_of_a_top_level_package():
    bare = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(LINKED)})\b", re.MULTILINE)
    assert [str(path) for path in source_files(".py") if bare.search((ROOT / path).read_text(encoding="utf-8"))] == []


def test_importing_sandmle_loads_nothing_heavy():
    loaded = modules_after("import sandmle")
    assert loaded & {*HEAVY, "pydantic", "numpy", "yaml", "typer"} == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_command_line_starts_without_heavy_imports(arguments):
    code = f"""
import sys
sys.argv = ["sandmle", *{arguments!r}]
from sandmle.cli import run
try:
    run()
except SystemExit as stop:
    assert not stop.code, stop.code
"""
    assert modules_after(code) & set(HEAVY) == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_in_documents_lead_somewhere(document):
    page = ROOT / document
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(text) > 200
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), target


def test_ci_is_executable_and_free_of_hosts_and_machine_paths():
    assert (ROOT / ".ci" / "run").stat().st_mode & stat.S_IXUSR
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / ".ci").iterdir() if path.is_file())
    assert not re.search(r"https?://|index-url|/root\b|/home/|/work\b", text)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the sources, so that nothing is written into the checkout."""
    pytest.importorskip("setuptools", minversion="77", reason="needs setuptools 77, which the extra `test` installs")
    work = tmp_path_factory.mktemp("wheel")
    source = work / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    for name in (*LINKED, "src"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(work), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return next(work.glob("sandmle-*.whl"))


@pytest.mark.flow
def test_a_wheel_holds_every_source_and_data_file(wheel):
    expected = {
        f"sandmle/{path.as_posix().removeprefix('src/sandmle/')}"
        for path in source_files(*DATA_SUFFIXES)
        if path.parts[0] != "benchmarks"
    }
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert expected - held == set()
    assert "sandmle/py.typed" in held
    assert {name.split("/")[0] for name in held} <= {"sandmle", f"{wheel.name.split('-py3')[0]}.dist-info"}


@pytest.fixture(scope="module")
def run_installed(wheel, tmp_path_factory):
    """Runs code with the wheel unpacked, without the checkout; returns what it prints."""
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)

    def run(code):
        environment = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"}
        command = [sys.executable, "-c", f"import sandmle\nprint(sandmle.__file__)\n{code}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=target, env=environment)
        assert done.returncode == 0, done.stderr
        place, *lines = done.stdout.splitlines()
        assert Path(place).is_relative_to(target)
        return lines

    return run


@pytest.mark.flow
def test_an_installed_wheel_finds_its_data(run_installed):
    code = """
from sandmle.agents.procedural.lexicon import load_domains
from sandmle.prompts import load_prompt, prompt_names
print(len(load_domains()) > 0, len([load_prompt(name).version for name in prompt_names()]) == len(prompt_names()))
"""
    assert run_installed(code) == ["True True"]


@pytest.mark.flow
def test_an_installed_wheel_runs_sandboxes(run_installed):
    code = """
import asyncio
from sandmle.sandboxes import LocalBackend, SandboxSpec
async def main():
    async with LocalBackend(allow_unisolated=True) as backend:
        async with await backend.create(SandboxSpec(stateful=True)) as sandbox:
            await sandbox.run("x = 6", timeout=60)
            (fork,) = await sandbox.fork(1)
            async with fork:
                print((await fork.run("x * 7", timeout=60)).output.strip())
asyncio.run(main())
"""
    assert run_installed(code) == ["42"]


@pytest.mark.flow
def test_an_installed_wheel_has_what_is_uploaded_and_the_contract(run_installed):
    code = """
import io, tarfile
from sandmle.sandboxes.contract import CHECKS
from sandmle.sandboxes.e2b._upload import packed_program
names = tarfile.open(fileobj=io.BytesIO(packed_program())).getnames()
folders = {"sandboxes/_guest", "sandboxes/e2b/_guest", "sandboxes/e2b/_guest/seeding"}
print({name.rpartition("/")[0] for name in names} == folders, len(CHECKS) > 50)
"""
    assert run_installed(code) == ["True True"]
