"""What calls cost: one line a paid call in ``calls.jsonl``, totals for the budget of the batch, no keys."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import ValidationError

from sandmle.agents.llm._cache import Reply, Sample
from sandmle.agents.llm._settings import ModelSettings, TeamSettings
from sandmle.errors import EnvironmentProblem
from sandmle.record import Record
from sandmle.trajectory import Usage

__all__ = ["Ledger", "LedgerLine", "Spending"]


class Spending(Record):
    """Tokens of prompts and replies, and their price in money."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls + other.calls, tokens=self.tokens + other.tokens, money=self.money + other.money
        )

    @classmethod
    def of(cls, reply: Reply, model: ModelSettings) -> Spending:
        """What one reply cost."""
        usage = Usage(prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens)
        return cls(calls=1, tokens=usage.tokens, money=model.price.of(usage))


class LedgerLine(Record):
    """One paid call.

    Attributes:
        seconds: from the first try to the reply.
        tries: requests that were sent for it.
    """

    key: str
    sample: Sample
    model: str
    seconds: float
    tries: int
    finish_reason: str
    spending: Spending


class Ledger:
    """The lines of a folder and their totals; a last line that a kill cut short is dropped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.total = Spending()
        for line in self._read():
            self.total += line.spending

    def _read(self) -> list[LedgerLine]:
        if not self._path.exists():
            return []
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            os.truncate(self._path, len(whole))
        try:
            return [LedgerLine.model_validate_json(line) for line in whole.splitlines()]
        except ValidationError as error:
            raise EnvironmentProblem(f"{self._path} is broken; move it away to go on") from error

    def add(self, line: LedgerLine) -> None:
        """Write a line and count it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line.model_dump(mode="json")) + "\n")
        self.total += line.spending

    def check(self, team: TeamSettings) -> None:
        """Raise EnvironmentProblem where the budget of the batch is used."""
        used = self.total
        if team.batch_tokens is not None and used.tokens >= team.batch_tokens:
            raise EnvironmentProblem(
                f"the batch has used {used.tokens:,} of {team.batch_tokens:,} tokens;"
                " raise batch_tokens in the team's file and run the same command again"
            )
        if team.batch_money is not None and used.money >= team.batch_money:
            raise EnvironmentProblem(
                f"the batch has cost {used.money:.2f} of {team.batch_money:.2f};"
                " raise batch_money in the team's file and run the same command again"
            )
