import pytest

from sandmle.errors import BadInput
from sandmle.eval.suites import Sources, get_kind, load_suite, prepare_suite, suite_kinds


def test_kinds_are_found_by_name():
    assert [get_kind(kind.name) for kind in suite_kinds()] == list(suite_kinds())


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nonsense:x", "synthetic:DIR"),
        ("synthetic", "write synthetic:DIR"),
        ("synthetic:", "write synthetic:DIR"),
        ("synthetic:/no/such/folder", "no such folder"),
    ],
)
def test_a_wrong_name_is_explained(name, says):
    with pytest.raises(BadInput, match=says):
        load_suite(name)


def test_own_folders_need_no_preparation():
    with pytest.raises(BadInput, match="no preparation"):
        prepare_suite("synthetic:tasks", Sources(), print)
