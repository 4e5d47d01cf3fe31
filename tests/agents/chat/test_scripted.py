from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from PIL import Image
from threadpoolctl import threadpool_limits

from sandmle.agents.chat import make_policy, policy_names
from sandmle.agents.chat.scripted._plan import Plan, make_plan, profile_script, read_profile, script
from sandmle.errors import BadInput
from sandmle.eval.grading import grade_bytes
from sandmle.graphs.parsing import parse_reply
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task
from sandmle.trajectory import Action

SEEDS = ("iris", "wine", "breast-cancer", "diabetes", "digits")
KINDS = {
    "iris": ("class_probabilities", "multiclass_log_loss"),
    "wine": ("label", "macro_f1"),
    "breast-cancer": ("probability", "roc_auc"),
    "diabetes": ("number", "rmse"),
    "digits": ("label", "accuracy"),
}


@pytest.fixture(scope="module")
def real_tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task]:
    out = tmp_path_factory.mktemp("tasks")
    return {name: materialize(get_seed(name), out) for name in SEEDS}


def execute(code: str, public: Path, workspace: Path) -> str:
    """Run a script of ours right here, where the libraries are warm; the sandbox runs it in test_react."""
    workspace.mkdir(exist_ok=True, parents=True)
    with contextlib.suppress(FileExistsError):
        (workspace / "input").symlink_to(public)
    printed = io.StringIO()
    step = mock.patch.object(sys, "argv", ["/tmp/step.py"])
    with step, contextlib.chdir(workspace), contextlib.redirect_stdout(printed), threadpool_limits(1):
        exec(compile(code, "script.py", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def plan_for(public: Path, workspace: Path) -> Plan:
    profile = read_profile(execute(profile_script(), public, workspace))
    assert profile is not None
    return make_plan(profile, (public / "description.md").read_text())


@pytest.mark.parametrize("seed", SEEDS)
def test_every_script_is_valid_and_beats_the_constant(seed: str, real_tasks: dict[str, Task], tmp_path: Path) -> None:
    task = real_tasks[seed]
    plan = plan_for(task.public, tmp_path)
    assert (plan.kind, plan.metric) == KINDS[seed]
    scores = {}
    templates = ("dummy", "linear", "gbdt", "best") if seed != "digits" else ("dummy", "linear")
    for template in templates:
        printed = execute(script(template, plan, seed=3), task.public, tmp_path)
        assert printed.splitlines()[-1].startswith("submission.csv: ")
        report = grade_bytes(task, (tmp_path / "submission.csv").read_bytes())
        assert report.valid, (template, report.detail)
        scores[template] = -report.score if task.manifest.lower_is_better else report.score
    assert all(scores["dummy"] < scores[better] for better in templates[1:])


@pytest.mark.parametrize("template", ["linear", "gbdt"])
def test_scripts_are_deterministic(template: str, real_tasks: dict[str, Task], tmp_path: Path) -> None:
    public = real_tasks["wine"].public
    code = script(template, plan_for(public, tmp_path), seed=3)
    execute(code, public, tmp_path)
    first = (tmp_path / "submission.csv").read_bytes()
    execute(code, public, tmp_path)
    assert (tmp_path / "submission.csv").read_bytes() == first


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    """Text, dates, missing cells, a constant, ids of several kinds, labels like numbers, a class seen once."""
    public = tmp_path / "public"
    public.mkdir()
    header = "key,when,town,size,note,visit_id,fixed,empty,grade"
    rows = []
    for i in range(60):
        size = "" if i % 7 == 0 else f"{i * 1.5}"
        town = "" if i % 11 == 0 else ["Ulm, old", "Bonn", "None"][i % 3]
        grade = "10" if i == 59 else ["01", "2"][i % 2]
        rows.append(f'k{i:03},2024-{i % 12 + 1:02}-{i % 28 + 1:02},"{town}",{size},free text {i},{9000 + i},7,,{grade}')
    (public / "train.csv").write_text("\n".join([header, *rows[:40], rows[59]]) + "\n")
    test = [row.rsplit(",", 1)[0].replace("Bonn", "Unseen") for row in rows[40:59]]
    (public / "test.csv").write_text("\n".join([header.rsplit(",", 1)[0], *test]) + "\n")
    (public / "sample_submission.csv").write_text("key,grade\n" + "".join(f"{r.split(',')[0]},01\n" for r in test))
    (public / "description.md").write_text("# Grades\n\nScored by accuracy.\n")
    return public


@pytest.mark.parametrize("template", ["dummy", "linear", "gbdt", "best"])
def test_messy_data(template: str, messy: Path, tmp_path: Path) -> None:
    plan = plan_for(messy, tmp_path / "work")
    assert (plan.id_column, plan.target, plan.kind, plan.metric) == ("key", "grade", "label", "accuracy")
    execute(script(template, plan, seed=0), messy, tmp_path / "work")
    header, *rows = (tmp_path / "work" / "submission.csv").read_text().splitlines()
    assert header == "key,grade"
    assert [row.split(",")[0] for row in rows] == [f"k{i:03}" for i in range(40, 59)]
    assert {row.split(",")[1] for row in rows} <= {"01", "2", "10"}


PROFILE = {
    "sample_columns": ["id", "y"],
    "sample_numeric": True,
    "sample_integer": False,
    "sample_constant": 0.4,
    "target": "y",
    "target_distinct": 2,
    "target_numeric": False,
    "target_integer": False,
    "target_values": {"good": 60, "bad": 40},
}


@pytest.mark.parametrize(
    ("changes", "description", "kind", "positive", "metric"),
    [
        ({}, "Area under the ROC curve. `y` is the probability of `good`.", "probability", "good", "roc_auc"),
        ({}, "Metric: `log_loss`. Give the probability that it is bad.", "probability", "bad", "log_loss"),
        ({}, "ROC. A probability.", "probability", "bad", ""),  # the sample's constant is the share of bad
        ({"sample_constant": 0.5}, "A probability", "probability", "good", ""),  # the last in order
        ({"target_numeric": True, "target_integer": True}, "?", "probability", "bad", ""),
        ({"sample_numeric": False}, "?", "label", "", ""),
        ({"target_distinct": 9, "sample_integer": True}, "?", "label", "", ""),
        ({"target_distinct": 90, "target_numeric": True}, "?", "number", "", ""),
        ({"target_distinct": 90, "target_numeric": True}, "Root mean squared logarithmic error", "number", "", "rmsle"),
        ({"sample_columns": ["id", "a", "b"]}, "Multiclass log loss", "class_probabilities", "", "multiclass_log_loss"),
        ({"sample_columns": ["id", "a", "b"]}, "accuracy matters", "class_probabilities", "", ""),
    ],
)
def test_plans(changes: dict[str, object], description: str, kind: str, positive: str, metric: str) -> None:
    plan = make_plan(PROFILE | changes, description)
    assert (plan.kind, plan.positive, plan.metric) == (kind, positive, metric)


def converse(policy: str, *observations: str, task: Task | None = None) -> Action:
    """The action that a policy takes after these responses to its own earlier turns."""
    model = make_policy(policy, task=task).model
    messages: list[BaseMessage] = [SystemMessage("system"), HumanMessage("# Task\n\nScored by accuracy.")]
    for observation in observations:
        messages += [
            AIMessage(model.invoke(messages).text),
            HumanMessage(f"<tool_response>\n{observation}\n</tool_response>"),
        ]
    parsed = parse_reply(model.invoke(messages).text)
    assert isinstance(parsed, Action)
    return parsed


SEEN = "PROFILE " + json.dumps(PROFILE | {"target_values": {"0": 5, "1": 5}, "target_distinct": 2})
WRITTEN = "submission.csv: 10 rows written"
FAILED = "Traceback ...\n[the step failed: exit code 1]"


def test_the_turns_of_an_episode() -> None:
    assert converse("scripted:gbdt").code == profile_script().strip() + "\n"
    assert "HistGradientBoosting" in converse("scripted:gbdt", SEEN).code
    assert converse("scripted:search-16", SEEN).code.endswith("'16'])\n")
    assert converse("scripted:search", SEEN, FAILED).code == converse("scripted:gbdt", SEEN).code
    assert converse("scripted:gbdt", SEEN, WRITTEN).kind == "score"
    assert converse("scripted:gbdt", SEEN, WRITTEN, "[submission: valid]").kind == "answer"


def test_falling_back_after_errors() -> None:
    assert "predict(linear" in converse("scripted:gbdt", SEEN, FAILED).code
    assert (
        "predict(linear"
        in converse("scripted:gbdt", SEEN, f"{WRITTEN}\n[the step hit its limit of 90 s and was stopped]").code
    )
    assert "statistics" in converse("scripted:gbdt", SEEN, FAILED, FAILED).code
    assert converse("scripted:gbdt", SEEN, FAILED, FAILED, FAILED).kind == "answer"
    assert "predict(linear" in converse("scripted:gbdt", SEEN, WRITTEN, "[submission: invalid, missing_rows]").code
    assert converse("scripted:linear", SEEN, FAILED, WRITTEN).kind == "score"


def test_a_folder_that_cannot_be_read_ends_the_episode() -> None:
    assert converse("scripted:linear", FAILED).code == converse("scripted:linear").code
    assert converse("scripted:linear", FAILED, FAILED).kind == "answer"


def test_informed_runs_what_it_was_handed_and_says_so(task: Task) -> None:
    with pytest.raises(BadInput, match=r"informed\.py.*synthetic tasks only"):
        make_policy("scripted:informed", task=task)
    (task.provenance / "baselines").mkdir()
    (task.provenance / "baselines" / "informed.py").write_text("print('the rule')\n")
    policy = make_policy("scripted:informed", task=task)
    assert (policy.privileged, policy.scripted) == (True, True)
    assert converse("scripted:informed", SEEN, task=task).code == "print('the rule')\n"
    assert converse("scripted:informed", SEEN, "the rule", task=task).kind == "score"
    assert converse("scripted:informed", SEEN, FAILED, task=task).kind == "answer"  # it never turns into a generic one


def test_names() -> None:
    for name in policy_names()[1:-1]:
        policy = make_policy(name)
        assert (policy.name, policy.privileged, policy.scripted) == (name, False, True)
        assert policy.model.get_name() == name
    with pytest.raises(BadInput, match="scripted:informed is handed the hidden rule"):
        make_policy("scripted:informed")
    for unknown in ("scripted:magic", "openai:", "gpt", ""):
        with pytest.raises(BadInput, match=r"choose from .*scripted:dummy.*scripted:informed"):
            make_policy(unknown)


def _folder(public: Path, name: str) -> None:
    """A public folder beyond a table of labels; what is to be found is the lightness, or the word."""
    rng = np.random.default_rng(5)
    light, n = rng.uniform(60, 190, 60), 60
    table = pd.DataFrame({"key": [f"k{i:02}" for i in range(n)], "size": rng.normal(size=n).round(3)})
    if name == "pictures":
        (public / "photos").mkdir(parents=True)
        for i in range(n):
            pixels = np.clip(rng.normal(light[i], 9, (12, 12)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(public / "photos" / f"{i:02}.png")
        table["photo"] = [f"photos/{i:02}.png" for i in range(n)]
        table["grade"] = np.array(["dim", "pale", "bright"])[np.digitize(light, [100, 150])]
    elif name == "masks":
        (public / "photos").mkdir(parents=True)
        for i in range(n):
            pixels = np.full((8, 12), 60) + np.arange(96).reshape(8, 12) % 12 // 6 * 100
            Image.fromarray((pixels + rng.integers(0, 20, (8, 12))).astype(np.uint8)).save(
                public / "photos" / f"{i}.png"
            )
        table["photo"], table["grade"] = [f"photos/{i}.png" for i in range(n)], "7 6 19 6 31 6 43 6 55 6 67 6 79 6 91 6"
    elif name == "sets":
        table["grade"] = [
            " ".join(w for w, on in (("big", s > 0), ("odd", s > 1)) if on) or "none" for s in table["size"]
        ]
    else:
        table["visit"] = np.repeat(np.arange(12), 5)
        table["grade"] = (table["size"] > 0).astype(int)
    public.mkdir(exist_ok=True, parents=True)
    table[:40].to_csv(public / "train.csv", index=False)
    table[40:].drop(columns="grade").to_csv(public / "test.csv", index=False)
    constant = {"pictures": "dim", "masks": "none", "sets": "none", "groups": 0.5}[name]
    table[40:][["key"]].assign(grade=constant).to_csv(public / "sample_submission.csv", index=False)
    briefs = {
        "pictures": "Scored by `quadratic_kappa`. Grades are `dim`, `pale` and `bright`, in this order.",
        "masks": "Scored by `dice`.",
        "sets": "Scored by `jaccard`.",
        "groups": "Scored by `ndcg_at_5`. Rows are ranked within each `visit`.",
    }
    (public / "description.md").write_text(f"# Grades\n\n{briefs[name]}\n")


def _plan_beyond(name: str, tmp_path: Path) -> tuple[Path, Plan]:
    _folder(tmp_path / "public", name)
    return tmp_path / "public", plan_for(tmp_path / "public", tmp_path / "work")


@pytest.mark.parametrize("name", ["pictures", "masks", "sets", "groups"])
@pytest.mark.parametrize("template", ["dummy", "linear", "search-4"])
def test_more_than_a_table_is_left_to_the_search(name: str, template: str, tmp_path: Path) -> None:
    public, plan = _plan_beyond(name, tmp_path)
    assert plan.beyond_table
    printed = execute(script(template, plan, seed=0), public, tmp_path / "work")
    assert printed.splitlines()[-1] == "submission.csv: 20 rows written"
    found = pd.read_csv(tmp_path / "work" / "submission.csv", keep_default_na=False)
    assert list(found) == ["key", "grade"]
    assert list(found["key"]) == [f"k{i}" for i in range(40, 60)]
    constant = found["grade"].nunique() == 1
    assert constant == (template == "dummy" or name == "masks")


def test_the_search_is_told_what_the_brief_tells(tmp_path: Path) -> None:
    told = {name: _plan_beyond(name, tmp_path / name)[1].facts for name in ("pictures", "masks", "sets", "groups")}
    assert (told["pictures"]["kind"], told["pictures"]["classes"]) == ("label", ["dim", "pale", "bright"])
    assert (told["masks"]["kind"], told["masks"]["mask_shape"]) == ("mask", [8, 12])
    assert (told["sets"]["kind"], told["sets"]["classes"]) == ("label_set", ["big", "odd"])
    assert (told["groups"]["kind"], told["groups"]["group_column"]) == ("relevance", "visit")


def test_long_targets_leave_the_profile_short_enough_to_be_seen_whole(tmp_path: Path) -> None:
    public, workspace = tmp_path / "public", tmp_path / "work"
    public.mkdir()
    workspace.mkdir()
    masks = [" ".join(f"{start} 3" for start in range(1 + row, 771, 12)) for row in range(200)]
    ids = [f"a{row}" for row in range(200)]
    pd.DataFrame({"id": ids, "x": range(200), "pixels": masks}).to_csv(public / "train.csv", index=False)
    pd.DataFrame({"id": ids, "x": range(200)}).to_csv(public / "test.csv", index=False)
    pd.DataFrame({"id": ids, "pixels": "none"}).to_csv(public / "sample_submission.csv", index=False)
    (public / "description.md").write_text("Scored by the mean Dice coefficient.\n")
    observation = execute(profile_script(), public, workspace)
    profile = read_profile(observation)
    assert profile is not None
    assert profile["target_runs"]
    assert profile["target_values"] == {}
    assert len(observation) < 4_000
