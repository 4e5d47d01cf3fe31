"""The report of runs whose numbers are counted by hand."""

import json

import pytest

from sandmle.errors import BadInput
from sandmle.eval.report import summarize


@pytest.fixture
def two_policies(make_run, make_summary):
    make = make_summary
    return make_run(
        [
            make("scripted:dummy", "a", 0, 0.2, error="missing"),
            make("scripted:dummy", "b", 0, 0.4),
            make("scripted:linear", "a", 0, 0.6, medal="bronze"),
            make("scripted:linear", "b", 0, 1.0, medal="gold", turns=4, format_ok=3, leaked=True),
            make("scripted:linear", "c", 0, 0.0, status="infra_error"),
        ],
        tasks=["a", "b", "c"],
    )


def test_shares_and_means_leave_masked_episodes_out(two_policies):
    dummy, linear = summarize([two_policies]).rows
    assert (linear.episodes, linear.masked, linear.tasks, linear.expected) == (3, 1, 2, 3)
    assert linear.masked_by == {"infra_error": 1}
    assert (linear.valid, linear.above_median, linear.any_medal) == (1.0, 1.0, 1.0)
    assert (linear.bronze, linear.silver, linear.gold) == (0.5, 0.0, 0.5)
    assert linear.reward.mean == pytest.approx(0.8)
    assert linear.format_ok == pytest.approx((1 + 0.75) / 2)
    assert linear.turns == 3.0
    assert linear.leaked == 1
    assert (dummy.valid, dummy.errors) == (0.5, {"missing": 1})


def test_differences_are_paired_by_task_against_the_dummy(two_policies):
    (difference,) = summarize([two_policies]).differences
    assert (difference.policy, difference.versus, difference.tasks) == ("scripted:linear", "react scripted:dummy", 2)
    assert difference.reward.mean == pytest.approx(0.5)
    assert (difference.reward.low, difference.reward.high) == pytest.approx((0.4, 0.6))


def test_without_a_dummy_the_worst_measured_policy_is_the_reference(make_run, make_summary):
    rewards = {"openai:m": 0.5, "scripted:linear": 0.3, "scripted:informed": 0.1}
    run = make_run([make_summary(policy, task, 0, reward) for policy, reward in rewards.items() for task in "ab"])
    assert {found.versus for found in summarize([run]).differences} == {"react scripted:linear"}


def test_repeats_give_a_standard_error(make_run, make_summary):
    run = make_run([make_summary("m", "a", repeat, reward) for repeat, reward in enumerate((0.2, 0.6))], repeats=2)
    stats = summarize([run]).rows[0].reward_by_repeat
    assert (stats.repeats, stats.mean) == (2, pytest.approx(0.4))
    assert stats.sem == pytest.approx(0.2)


def test_repeats_that_lack_a_task_are_not_among_the_repeats(make_run, make_summary):
    full = [make_summary("m", task, repeat, reward) for repeat, reward in ((0, 0.2), (1, 0.6)) for task in "ab"]
    rest = [make_summary("m", "a", 2, 1.0), make_summary("m", "b", 2, 0, status="infra_error")]
    begun = [make_summary("m", "b", 3, 1.0)]
    row = summarize([make_run(full + rest + begun, repeats=4)]).rows[0]
    for stats in (row.reward_by_repeat, row.any_medal_by_repeat):
        assert stats.repeats == 2
    assert row.reward_by_repeat.mean == pytest.approx(0.4)
    assert summarize([make_run(begun, tasks=["a", "b"])]).rows[0].reward_by_repeat is None


def test_time_and_cost_are_only_in_the_timing_block(two_policies, make_run):
    slower = make_run(
        [
            episode.model_copy(update={"timing": episode.timing.model_copy(update={"wall_s": 99.0, "code_s": 50.0})})
            for episode in two_policies.episodes
        ],
        tasks=["a", "b", "c"],
    )
    one, two = (json.loads(summarize([run]).to_text()) for run in (two_policies, slower))
    assert one.pop("timing") != two.pop("timing")
    assert one == two


def test_the_order_in_which_episodes_finished_changes_nothing(two_policies, make_run, tmp_path):
    settings = two_policies.record.settings
    turned = make_run(tuple(reversed(two_policies.episodes)), tasks=["a", "b", "c"], models=settings.models)
    assert summarize([turned]) == summarize([two_policies])


def test_an_empty_run_has_rows_without_numbers(make_run):
    report = summarize([make_run([], tasks=["a"], models=("scripted:dummy",))])
    assert (report.episodes, report.expected) == (0, 1)
    assert report.rows[0].reward is None
    assert report.rows[0].valid is None
    assert report.runs[0].isolation == ("B",)


def test_a_run_whose_episodes_are_all_masked_has_no_means(make_run, make_summary):
    report = summarize([make_run([make_summary("m", "a", 0, 0.0, status="internal_error")])])
    assert report.rows[0].reward is None
    assert report.timing == ()


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": "paper"},
        {"reward": "sparse"},
        {"temperature": 0.5},
        {"budget": {"turns": 3}},
        {"budget": {"step_seconds": 0.5}},
    ],
)
def test_runs_under_other_conditions_are_never_mixed(make_run, make_summary, change):
    runs = [
        make_run([make_summary("m", "a", 0, 0.1)], folder=name, **extra) for name, extra in (("x", {}), ("y", change))
    ]
    with pytest.raises(BadInput, match="may not stand in one table"):
        summarize(runs)


def test_two_runs_stand_side_by_side_and_pair_across(make_run, make_summary):
    runs = [
        make_run([make_summary("scripted:dummy", task, 0, 0.1) for task in "ab"], folder="first"),
        make_run([make_summary("openai:m", task, 0, 0.6) for task in "bc"], folder="second"),
    ]
    report = summarize(runs)
    assert [(row.run, row.policy) for row in report.rows] == [("first", "scripted:dummy"), ("second", "openai:m")]
    assert report.differences[0].tasks == 1
    assert report.differences[0].reward.mean == pytest.approx(0.5)


def test_one_run_named_twice_and_no_run_are_bad_input(make_run, make_summary):
    run = make_run([make_summary("m", "a", 0, 0.1)])
    with pytest.raises(BadInput, match="twice"):
        summarize([run, run])
    with pytest.raises(BadInput, match="at least one"):
        summarize([])


def test_medals_are_counted_only_where_a_task_has_thresholds(make_run, make_summary):
    real = make_summary("m", "a", 0, 0.4, thresholds=None)
    made = make_summary("m", "b", 0, 0.9, medal="gold")
    assert summarize([make_run([real])]).rows[0].any_medal is None
    assert summarize([make_run([real, made])]).rows[0].gold == 1.0
