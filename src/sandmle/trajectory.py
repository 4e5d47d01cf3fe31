"""What happened in a rollout, as records.

Vocabulary:
    step         one run of code in the sandbox
    turn         one model call and the observation that follows
    episode      one rollout of one policy on one task: its turns (the trajectory), grade, reward and status
    masked       left out of the loss because our infrastructure failed, never because of what the agent did; but the
                 reward preset ``released`` also masks what ran into too many step limits
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from sandmle.grades import GradeReport, Medal
from sandmle.record import Record, VersionedRecord, sha256_json

__all__ = [
    "MASKED_STATUSES",
    "Action",
    "Chosen",
    "Episode",
    "EpisodeStatus",
    "IsolationTier",
    "Message",
    "Price",
    "Protocol",
    "Reward",
    "StepResult",
    "StepStatus",
    "TokenFields",
    "Turn",
    "Usage",
    "episode_id",
]

IsolationTier = Literal["A", "B", "C", "D", "vm"]
Protocol = Literal["clean", "train", "paper", "dojo"]
StepStatus = Literal["ok", "error", "timeout", "oom", "output_limit", "killed"]


class StepResult(Record):
    """One run of code in a sandbox.

    Attributes:
        status: ``error`` is a non-zero exit or a fatal signal of the code's own making; ``killed`` another violent end.
        exit_code: the process's exit code; None if a signal ended it.
        signal: the signal that ended it; None if it exited.
        head: the first part of stdout and stderr together, decoded with replacement.
        tail: the last part, empty if ``head`` holds everything.
        total_bytes: bytes written in all, kept or not.
        wall_s: seconds from start to end.
        cpu_s: CPU seconds of the whole process tree.
        peak_mib: peak resident memory in MiB.
        tier: isolation it really ran under: A root namespaces, B user namespaces, C Landlock, D none, vm a machine.
        state: what became of a cell's variables: ``kept``, ``rolled_back`` to those before it, or ``lost``; ``none``
            for scripts.
    """

    status: StepStatus
    exit_code: int | None = None
    signal: int | None = None
    head: str = ""
    tail: str = ""
    total_bytes: Annotated[int, Field(ge=0)] = 0
    wall_s: Annotated[float, Field(ge=0)] = 0.0
    cpu_s: Annotated[float, Field(ge=0)] = 0.0
    peak_mib: Annotated[float, Field(ge=0)] = 0.0
    tier: IsolationTier
    state: Literal["none", "kept", "rolled_back", "lost"] = "none"

    @property
    def output(self) -> str:
        """Head and tail, with a line between them that tells how many bytes were left out."""
        if not self.tail:
            return self.head
        left_out = self.total_bytes - len(self.head.encode()) - len(self.tail.encode())
        return f"{self.head}\n... [{max(left_out, 0)} bytes left out] ...\n{self.tail}"


class Message(Record):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Usage(Record):
    """Tokens of one model call, as the endpoint counted them (0 where it does not count)."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Of prompt and reply together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class Price(Record):
    """Money for a million tokens of prompts (``input``) and of replies (``output``), in any currency."""

    input: Annotated[float, Field(ge=0)] = 0.0
    output: Annotated[float, Field(ge=0)] = 0.0

    def of(self, usage: Usage) -> float:
        """What these tokens cost."""
        return (usage.prompt_tokens * self.input + usage.completion_tokens * self.output) / 1_000_000


class TokenFields(Record):
    """The tokens of one model call exactly as sent and sampled; ``logprobs`` has one value per completion id."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]


class Action(Record):
    """What the agent asked for.

    Attributes:
        kind: ``python`` runs code whose submission counts, ``validate`` code whose submission does not; ``score`` asks
            for the score, ``info`` for facts about ``topic``, ``history`` for what was done so far; ``reset`` empties
            the workspace; ``review`` judges a run; ``answer`` ends the episode.
    """

    kind: Literal["python", "validate", "score", "info", "history", "reset", "review", "answer"]
    code: str = ""
    topic: str = ""


class Turn(Record):
    """One model call and the observation that follows.

    Attributes:
        messages: the messages that are new in this turn's prompt.
        anew: the prompt is ``messages`` alone; else it goes on from the turn before.
        action: None if the reply could not be parsed; then ``format_ok`` is False.
        observation: what the agent is told; holds no time, pid or host path.
        model_s: seconds spent in the model call.
    """

    index: int
    messages: tuple[Message, ...]
    anew: bool = False
    reply: str
    action: Action | None
    format_ok: bool
    step: StepResult | None = None
    observation: str = ""
    usage: Usage = Usage()
    model_s: float = 0.0
    tokens: TokenFields | None = None
    weight_version: int | None = None

    @property
    def failed(self) -> bool:
        """Whether the reply could not be parsed, or its code did not run to its end."""
        return self.action is None or (self.step is not None and self.step.status != "ok")


class Reward(Record):
    """A reward in [0, 1] and its parts; ``total`` is the clamped sum of the parts."""

    preset: str
    total: Annotated[float, Field(ge=0, le=1)]
    parts: dict[str, float]


class Chosen(Record):
    """A submission that counts under the protocol from this turn of the episode on, until another one does.

    Attributes:
        turn: 0-based index of the turn that made it count.
        score: on the Private rows; only valid submissions count, so there is always one.
        medal: None where none is earned or none is defined.
    """

    turn: Annotated[int, Field(ge=0)]
    score: float
    medal: Medal | None = None


class EpisodeStatus(StrEnum):
    """How an episode ended; ``step_timeouts`` stands in place of that where the reward's weights mask it for them."""

    ANSWERED = "answered"
    MAX_TURNS = "max_turns"
    TOKEN_BUDGET = "token_budget"
    WALL_BUDGET = "wall_budget"
    FORMAT_ABORT = "format_abort"
    MODEL_TIMEOUT = "model_timeout"
    INFRA_ERROR = "infra_error"
    INTERNAL_ERROR = "internal_error"
    CANCELLED = "cancelled"
    STEP_TIMEOUTS = "step_timeouts"


MASKED_STATUSES = frozenset(
    {
        EpisodeStatus.MODEL_TIMEOUT,
        EpisodeStatus.INFRA_ERROR,
        EpisodeStatus.INTERNAL_ERROR,
        EpisodeStatus.CANCELLED,
        EpisodeStatus.STEP_TIMEOUTS,
    }
)


class Episode(VersionedRecord):
    """One rollout of one policy on one task.

    Attributes:
        id: 16 hex digits, see ``episode_id``.
        policy: the model's name, such as ``scripted:linear`` or ``openai:NAME``.
        privileged: the policy was handed the hidden rule; its results are a calibration, not a measurement.
        status: how it ended; ``reason`` says more in words.
        grade: None only where the episode is masked.
        pruned: how often old observations were dropped to fit the context.
        history: the submissions that counted, in the order of their turns; the last one is what ``grade`` judges.
        leaked: a canary of the hidden labels was seen in the episode.
        wall_s: seconds of the whole episode.
    """

    id: str
    task_id: str
    task_hash: str
    scaffold: str
    policy: str
    protocol: Protocol
    repeat: int
    privileged: bool = False
    status: EpisodeStatus
    reason: str = ""
    turns: tuple[Turn, ...] = ()
    grade: GradeReport | None = None
    reward: Reward | None = None
    pruned: int = 0
    history: tuple[Chosen, ...] = ()
    leaked: bool = False
    wall_s: float = 0.0

    @property
    def masked(self) -> bool:
        """Whether the episode is kept out of the loss and out of every mean; decided by the status alone."""
        return self.status in MASKED_STATUSES

    @property
    def mask_reason(self) -> EpisodeStatus | None:
        """The status that masks the episode."""
        return self.status if self.masked else None


def episode_id(task_hash: str, scaffold: str, policy: str, settings_hash: str, repeat: int) -> str:
    """The id of an episode: the first 16 hex digits of a SHA-256 over everything that tells it from others."""
    return sha256_json([task_hash, scaffold, policy, settings_hash, repeat])[:16]
