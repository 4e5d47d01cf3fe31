import fcntl
from pathlib import Path

import pytest

from sandmle.errors import BadInput
from sandmle.seeds import add_folder, get_seed, list_seeds, load_table, select_seeds


def ids(seeds):
    return [seed.id for seed in seeds]


def test_a_seed_is_found_by_its_id():
    assert get_seed("iris").title == "Species of iris flowers"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("irs", "did you mean iris"), ("breast_cancer", "breast-cancer"), ("zzzz", "see `sandmle seeds list`")],
)
def test_an_unknown_id_gets_a_hint(typed: str, hint: str):
    with pytest.raises(BadInput) as caught:
        get_seed(typed)
    assert hint in str(caught.value)


def test_seeds_are_selected_once_each_in_the_order_given():
    assert ids(select_seeds(["wine,iris", "digits", "iris"])) == ["wine", "iris", "digits"]
    assert ids(select_seeds([" wine , iris "])) == ["wine", "iris"]


@pytest.mark.parametrize("words", [[], [""], [","]])
def test_nothing_named_is_refused(words: list[str]):
    with pytest.raises(BadInput, match="no seed is named"):
        select_seeds(words)


def test_bundled_leaves_added_ones_out(folder_seed: Path):
    add_folder(folder_seed)
    assert "my-churn" in ids(select_seeds(["all"]))
    assert "my-churn" not in ids(select_seeds(["bundled"]))
    assert {"iris", "wine", "digits", "diabetes", "breast-cancer"} <= set(ids(select_seeds(["bundled"])))


def test_a_folder_is_selected_by_its_path_without_being_added(folder_seed: Path, data_dir: Path, tmp_path: Path):
    assert ids(select_seeds([str(folder_seed), "iris"])) == ["my-churn", "iris"]
    assert not data_dir.exists()
    with pytest.raises(BadInput, match="no such folder"):
        select_seeds([str(tmp_path / "nowhere")])


def test_an_id_goes_before_a_folder_of_that_name(folder_seed: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder_seed.parent)
    assert ids(select_seeds(["My Churn"])) == ["my-churn"]
    folder_seed.rename(folder_seed.with_name("iris"))
    assert [seed.source for seed in select_seeds(["iris"])] == ["bundled"]


def test_an_added_folder_is_remembered_and_replaced(folder_seed: Path):
    assert add_folder(folder_seed) == get_seed("my-churn")
    (folder_seed / "description.md").write_text("# Another title\n")
    add_folder(folder_seed)
    assert [seed.title for seed in list_seeds() if seed.source == "folder"] == ["Another title"]
    assert load_table(get_seed("my-churn")).target == "outcome"


def test_a_removed_folder_is_still_listed_and_loading_says_so(folder_seed: Path):
    add_folder(folder_seed)
    folder_seed.rename(folder_seed.with_name("moved"))
    with pytest.raises(BadInput, match="My Churn: no such folder"):
        load_table(get_seed("my-churn"))


def test_the_id_of_a_bundled_seed_is_taken(folder_seed: Path, data_dir: Path):
    (folder_seed / "seed.toml").write_text('id = "iris"')
    with pytest.raises(BadInput, match="the id 'iris' belongs to a bundled seed"):
        add_folder(folder_seed)
    assert not (data_dir / "seeds.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seeds": [{"id": "x"}]}', '{"schema_version": 99}'])
def test_a_broken_memory_is_one_clear_line(text: str, data_dir: Path):
    data_dir.mkdir()
    (data_dir / "seeds.json").write_text(text)
    with pytest.raises(BadInput) as caught:
        list_seeds()
    assert "seeds.json" in str(caught.value)
    assert "mend or delete this file" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_processes_never_write_at_once(folder_seed: Path, data_dir: Path):
    lock = data_dir / ".sandmle" / "lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BadInput, match="another sandmle is writing there"):
            add_folder(folder_seed)
    assert add_folder(folder_seed).id == "my-churn"


def test_a_file_where_the_data_folder_should_be_is_bad_input(folder_seed: Path, data_dir: Path):
    data_dir.write_text("a file where a folder should be")
    with pytest.raises(BadInput, match="can't write there"):
        add_folder(folder_seed)
