"""What an evaluation checks and resolves before the first episode, so that bad input leaves nothing behind."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from urllib.parse import urlsplit, urlunsplit

from sandmle.agents.chat import Pace, Policy, make_policy
from sandmle.agents.submissions import Submissions
from sandmle.errors import BadInput
from sandmle.eval.acceptance import Calibration
from sandmle.eval.grading.boards import read_boards
from sandmle.eval.grading.original import require_original
from sandmle.eval.runner._episode import EpisodePlan
from sandmle.eval.runs import EvalSettings, RunRecord, Scale
from sandmle.eval.suites import load_suite
from sandmle.files import hash_tree
from sandmle.graphs.scaffold import Budget, Scaffold, get_scaffold
from sandmle.record import sha256_json
from sandmle.rl.rewards import get_preset
from sandmle.settings import get_settings
from sandmle.task import Task
from sandmle.trajectory import IsolationTier, Price, episode_id

__all__ = ["Endpoint", "Policies", "Prepared", "may_run_unisolated", "prepare", "run_record"]

_LIBRARIES = ("sandmle", "numpy", "pandas", "scikit-learn", "lightgbm", "langgraph", "langchain-core")


@dataclass(frozen=True)
class Endpoint:
    """Where the language models of a run answer. Its credentials are never shown nor written.

    Attributes:
        base_url: its address; None for the settings'.
        api_key: its key; None for the settings'.
        requests_per_minute: of all episodes together; None for no limit of our own.
        tokens_per_minute: prompts and replies of all episodes together; None for no limit of our own.
        called: what the run's record says in place of the address, where that is another one each time.
    """

    base_url: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    called: str | None = None


@dataclass(frozen=True)
class Prepared:
    """An evaluation that is ready to run: every episode's plan, with the name of its policy."""

    tasks: tuple[Task, ...]
    scaffolds: tuple[Scaffold, ...]
    policies: Policies
    settings: EvalSettings

    def plans(self) -> list[tuple[EpisodePlan, str]]:
        """All episodes: repeat by repeat, task by task, so that an unfinished run compares all policies."""
        return [
            (self._plan(task, scaffold, model, repeat), model)
            for repeat in range(self.settings.repeats)
            for task in self.tasks
            for scaffold in self.scaffolds
            for model in self.settings.models
        ]

    def _plan(self, task: Task, scaffold: Scaffold, model: str, repeat: int) -> EpisodePlan:
        settings = self.settings
        overrides = settings.budget.model_dump(exclude_none=True)
        return EpisodePlan(
            id=episode_id(task.manifest.content_hash, scaffold.name, model, settings.episode_hash, repeat),
            task=task,
            scaffold=scaffold,
            repeat=repeat,
            protocol=settings.protocol,
            weights=get_preset(settings.reward),
            budget=replace(Budget.for_task(task), **overrides),
        )


class Policies:
    """Makes the policies of a run: an endpoint's once, a scripted one for each episode."""

    def __init__(self, settings: EvalSettings, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._pace = Pace(endpoint.requests_per_minute, endpoint.tokens_per_minute)
        self._shared: dict[str, Policy] = {}
        self._foreign = False

    def make(self, name: str, task: Task, repeat: int) -> Policy:
        """The policy ``name`` for one episode.

        Raises:
            BadInput: unknown name, or a privileged policy and a task without a rule.
            EnvironmentProblem: an endpoint with neither key nor address.
        """
        if name in self._shared:
            return self._shared[name]
        policy = make_policy(
            name,
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            temperature=self._settings.temperature,
            pace=self._pace,
            task=task,
            seed=_seed(self._settings.seed, task.manifest.content_hash, name, repeat),
        )
        self._foreign |= not policy.scripted or policy.privileged
        if not policy.scripted:
            self._shared[name] = policy
        return policy

    @property
    def all_ours(self) -> bool:
        """Whether every policy made so far runs code that ships with sandmle and no other."""
        return not self._foreign

    @property
    def shared(self) -> tuple[Policy, ...]:
        """The policies behind endpoints that were made so far."""
        return tuple(self._shared.values())


def prepare(settings: EvalSettings, endpoint: Endpoint) -> Prepared:
    """Resolve every name of ``settings`` and check every task.

    Raises:
        BadInput: an unknown name, a missing suite, a task whose files are not those of its manifest, or that the
            protocol can't be held on.
        EnvironmentProblem: an endpoint with neither key nor address, or a task's original grader is not installed.
    """
    get_preset(settings.reward)
    scaffolds = tuple(get_scaffold(name) for name in settings.scaffolds)
    tasks = load_suite(settings.suite).tasks
    for task in tasks:
        require_original(task)
        Submissions(task, settings.protocol)  # refuses what an episode would be refused
        _check_files(task)
    policies = Policies(settings, endpoint)
    for name in settings.models:
        if policies.make(name, tasks[0], 0).privileged:
            for task in tasks[1:]:
                policies.make(name, task, 0)
    return Prepared(tasks, scaffolds, policies, settings)


def _check_files(task: Task) -> None:
    listed = task.manifest.files
    prepared = {f"prepared/{name}": digest for name, digest in hash_tree(task.root / "prepared").items()}
    expected = {name: digest for name, digest in listed.items() if name.startswith("prepared/")}
    if prepared != expected:
        name = min(name for name, _ in prepared.items() ^ expected.items())
        raise BadInput(f"{task.root}: {name} is not what task.json says; see `sandmle check {task.root}`")


def _seed(*parts: object) -> int:
    """A random state in [0, 2**32) that depends on all of ``parts``."""
    return int(sha256_json(list(parts))[:8], 16)


def may_run_unisolated(prepared: Prepared, *, allow_unisolated: bool) -> bool:
    """Whether the run's code may run without isolation.

    Code of the scripted policies is ours. A language model's must be allowed, and so must that of a privileged policy:
    it comes with the task, which may be a stranger's.
    """
    return allow_unisolated or get_settings().allow_unisolated or prepared.policies.all_ours


def run_record(
    prepared: Prepared, tier: IsolationTier, endpoint: Endpoint, prices: Mapping[str, Price] | None = None
) -> RunRecord:
    """What ``run.json`` says about a run that starts here and now under isolation ``tier``.

    Raises:
        BadInput: a price of a model that the run does not have, or a task's calibration can't be read.
    """
    address = endpoint.base_url or get_settings().base_url
    called = endpoint.called or (_redacted(address) if address else None)
    strangers = sorted(set(prices or ()) - set(prepared.settings.models))
    if strangers:
        raise BadInput(f"a price of {strangers[0]!r}, but the run's models are {', '.join(prepared.settings.models)}")
    return RunRecord(
        settings=prepared.settings,
        tasks={task.id: task.manifest.content_hash for task in prepared.tasks},
        versions={"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        isolation=tier,
        endpoint=called if prepared.policies.shared else None,
        scales={task.id: scale for task in prepared.tasks if (scale := _scale(task)) is not None},
        ranked=tuple(task.id for task in prepared.tasks if (boards := read_boards(task)) and boards.known),
        prices=dict(prices or {}),
    )


def _scale(task: Task) -> Scale | None:
    path = task.provenance / "calibration.json"
    if not path.exists():
        return None
    found = Calibration.read(path)
    known = found.bayes > found.dummy
    return Scale(dummy=found.sign * found.dummy, bayes=found.sign * found.bayes) if known else None


def _redacted(address: str) -> str:
    """The address without user, password, query and fragment, where keys hide."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
