"""CPU and wall seconds of an experiment: with children, over several commands."""

import subprocess
import sys

from sandmle.rl.experiments._spent import Spent

BURN = "import time\nwhile time.process_time() < {seconds}: pass"


def burn(seconds):
    """Have a child use CPU seconds, and wait for it."""
    subprocess.run([sys.executable, "-c", BURN.format(seconds=seconds)], check=True)


def test_seconds_of_children_count_and_those_before_its_making_do_not(tmp_path):
    burn(0.5)
    spent = Spent(tmp_path / "spent.json")
    assert spent.cpu_s < 0.25
    burn(0.3)
    assert 0.3 <= spent.cpu_s < 0.75
    assert spent.wall_s >= 0.3


def test_commands_add_up_and_what_was_kept_is_counted_once(tmp_path):
    path = tmp_path / "spent.json"
    for number in (1, 2, 3):
        spent = Spent(path)
        burn(0.2)
        spent.keep()
        spent.keep()
        assert 0.2 * number <= Spent(path).cpu_s < 0.5 * number
        assert Spent(path).wall_s >= 0.2 * number


def test_what_a_command_has_not_kept_is_lost(tmp_path):
    path = tmp_path / "spent.json"
    killed = Spent(path)
    burn(0.3)
    assert killed.cpu_s >= 0.3
    assert Spent(path).cpu_s < 0.25
