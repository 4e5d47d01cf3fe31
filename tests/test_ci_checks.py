"""The checks that CI makes around the tests: libraries that must be absent, unexpected skips, processes left behind."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[1] / ".ci"


def load(name):
    spec = importlib.util.spec_from_file_location(f"ci_{name}", CI / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_absent, check_skips, check_processes = load("check_absent"), load("check_skips"), load("check_processes")

SAMPLE = """
import pytest

def test_runs(): pass

@pytest.mark.skip(reason="needs a moon")
def test_skipped(): pass

@pytest.mark.xfail(reason="known")
def test_known(): assert False

def test_lacks_a_library(): pytest.importorskip("no_such_library")
"""


@pytest.fixture
def report(tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "test_whole.py").write_text('import pytest\npytest.importorskip("no_such_library", reason="no sea")\n')
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--junitxml=report.xml",
        "test_sample.py",
        "test_whole.py",
    ]
    subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, check=True, capture_output=True)
    return tmp_path / "report.xml"


def test_skips_are_read_from_pytest_and_expected_failures_are_not(report):
    skips = check_skips.skipped_tests(report)
    assert len(skips) == 3
    (whole,) = [skip for skip in skips if skip.startswith("test_whole: ")]
    assert "no sea" in whole
    assert "test_sample.test_skipped: needs a moon" in skips
    assert any("test_lacks_a_library" in skip and "no_such_library" in skip for skip in skips)


def test_a_skip_that_nobody_expects_fails(report, tmp_path, capsys):
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("# comment\n\nneeds a moon # no moon in CI\n")
    assert check_skips.main(str(report), str(allowed)) == 1
    printed = capsys.readouterr().out
    assert "SKIP NOT EXPECTED  test_sample.test_lacks_a_library" in printed
    assert "1 skipped: needs a moon  [no moon in CI]" in printed
    allowed.write_text("needs a moon # no moon in CI\nno_such_library # never installed\nno sea # inland\n")
    assert check_skips.main(str(report), str(allowed)) == 0


def test_skips_may_be_expected_by_several_lists(report, tmp_path):
    for name, line in {"one": "needs a moon # no moon\n", "two": "no_such_library # never\nno sea # inland\n"}.items():
        (tmp_path / name).write_text(line)
    assert check_skips.main(str(report), str(tmp_path / "one")) == 1
    assert check_skips.main(str(report), str(tmp_path / "one"), str(tmp_path / "two")) == 0


@pytest.mark.parametrize("line", ["needs a moon", "needs a moon # ", " # no pattern would allow all"])
def test_an_expected_skip_needs_pattern_and_reason(tmp_path, line):
    allowed = tmp_path / "allowed.txt"
    allowed.write_text(line + "\n")
    with pytest.raises(SystemExit, match=r"allowed\.txt:1"):
        check_skips.expected_skips(allowed)


@pytest.mark.parametrize("name", ["expected-skips.txt", "expected-skips-bare.txt"])
def test_the_committed_lists_are_well_formed(name):
    assert check_skips.expected_skips(CI / name)


def test_a_library_that_should_be_absent_is_told(capsys):
    assert check_absent.main("no_such_library") == 0
    assert check_absent.main("no_such_library", "numpy") == 1
    assert capsys.readouterr().out.splitlines()[-1] == "installed, but should not be: numpy"


def test_ci_tries_the_suite_without_the_extra_train_before_it_installs_it():
    steps = (CI / "run").read_text().splitlines()
    bare, whole = steps.index("install '.[test]'"), steps.index("install '.[dev,train]'")
    assert any(line.startswith("pytest -m") for line in steps[bare:whole])


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc on this system")
def test_a_process_left_behind_is_found_until_it_ends(tmp_path):
    script = tmp_path / "venv" / "linger.py"
    script.parent.mkdir()
    script.write_text("import sys; print('up', flush=True); sys.stdin.read()")
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        found = check_processes.left_behind(script.parent)
        process.communicate()
    assert list(found) == [process.pid]
    assert "linger.py" in found[process.pid]
    assert check_processes.left_behind(script.parent) == {}
    assert check_processes.left_behind(tmp_path / "ven") == {}
