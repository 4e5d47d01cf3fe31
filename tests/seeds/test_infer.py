import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.seeds._infer import MAX_INTEGER_CLASSES, class_labels, infer_problem, infer_target, is_number

INTEGERS = st.integers(-(10**6), 10**6)
WORDS = st.text(st.characters(categories=["Lu", "Ll"]), min_size=1, max_size=8).filter(
    lambda word: not is_number(word) and word.lower() not in {"nan", "inf", "infinity"}
)


def repeated(values):
    return [str(value) for value in values] * 3


@given(st.sets(INTEGERS, min_size=2, max_size=60))
def test_integers_are_classes_while_they_are_few(values):
    expected = "regression" if len(values) > MAX_INTEGER_CLASSES else "multiclass" if len(values) > 2 else "binary"
    assert infer_problem(repeated(values)) == expected


@given(st.sets(WORDS, min_size=2, max_size=60))
def test_texts_are_classes_however_many(values):
    assert infer_problem(repeated(values)) == ("multiclass" if len(values) > 2 else "binary")


@given(st.sets(INTEGERS, min_size=1, max_size=5), st.floats(-1e6, 1e6))
def test_one_fraction_makes_it_a_regression(values, fraction):
    assert infer_problem([*repeated(values), str(fraction)]) == "regression"


@given(st.sets(INTEGERS, min_size=2, max_size=20), WORDS)
def test_one_text_makes_numbers_classes(values, word):
    cells = [*repeated(values), word]
    assert infer_problem(cells) == "multiclass"
    assert class_labels(cells) == tuple(sorted(set(cells)))


@given(st.lists(INTEGERS, min_size=1))
def test_number_classes_stand_in_order_of_value(values):
    labels = class_labels(map(str, values))
    assert [int(label) for label in labels] == sorted(set(values))


def test_labels_stay_as_they_are_written():
    assert class_labels(["10", "02", "2", "10"]) == ("02", "2", "10")


COLUMNS = st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=8, unique=True)


@given(COLUMNS, st.data())
def test_the_column_that_test_lacks_is_the_target_wherever_it_stands(columns, data):
    id_column, *rest = columns
    target = data.draw(st.sampled_from(rest))
    train = data.draw(st.permutations(columns))
    test = [column for column in train if column != target]
    assert infer_target(train, test, [id_column, target], id_column) == target
    assert infer_target(train, test, [id_column], id_column) == target


@given(st.lists(st.text(min_size=1, max_size=5), min_size=4, max_size=8, unique=True), st.data())
def test_of_several_the_one_in_the_sample_is_the_target(columns, data):
    id_column, kept, *missing = columns
    target = data.draw(st.sampled_from(missing))
    assert infer_target(columns, [id_column, kept], [id_column, target], id_column) == target
    with pytest.raises(BadInput, match="which is the target"):
        infer_target(columns, [id_column, kept], [id_column], id_column)
    with pytest.raises(BadInput, match="which is the target"):
        infer_target(columns, [id_column, kept], [id_column, *missing], id_column)


def test_no_column_is_left_for_a_target():
    with pytest.raises(BadInput, match=r"train\.csv: every column is in test\.csv too"):
        infer_target(["id", "x"], ["id", "x"], ["id", "y"], "id")


@pytest.mark.parametrize(
    ("cell", "number"), [("1", True), ("-2.5e3", True), ("nan", False), ("inf", False), ("a", False)]
)
def test_only_finite_numbers_are_numbers(cell, number):
    assert is_number(cell) is number
