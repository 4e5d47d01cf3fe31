"""Endpoints that misbehave in every way: a thousand short episodes, each ends with the status that it deserves."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sandmle.eval.runner import BudgetSettings, Endpoint, EvalSettings, aevaluate
from sandmle.eval.runs import EpisodeSummary
from sandmle.trajectory import EpisodeStatus

pytestmark = [pytest.mark.flow, pytest.mark.slow]

ANSWER = "<answer>submission</answer>"
ACTION = json.dumps({"action": "get_history", "params": {}})
SCRIPT = "A plan.\n\n```python\nprint(1)\n```"
REVIEW = json.dumps({"is_bug": True, "summary": "nothing", "metric": None})
STATUS = {
    "busy": {EpisodeStatus.INFRA_ERROR},
    "broken": {EpisodeStatus.INFRA_ERROR},
    "malformed": {EpisodeStatus.INFRA_ERROR},
    "empty": {EpisodeStatus.FORMAT_ABORT},
    "endless": {EpisodeStatus.FORMAT_ABORT, EpisodeStatus.TOKEN_BUDGET},
    "twice": {EpisodeStatus.FORMAT_ABORT},
    "hanging": {EpisodeStatus.MODEL_TIMEOUT},
    "moody": {
        EpisodeStatus.ANSWERED,
        EpisodeStatus.MAX_TURNS,
        EpisodeStatus.FORMAT_ABORT,
        EpisodeStatus.TOKEN_BUDGET,
        EpisodeStatus.INFRA_ERROR,
    },
}


def completion(content: str | None) -> dict[str, Any]:
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    }  # fmt: skip


def good(prompt: str) -> str:
    """A right reply in the scaffold that asks."""
    if '"is_bug"' in prompt:
        return REVIEW
    if "one block fenced" in prompt:
        return SCRIPT
    return ACTION if '"action": "execute_code"' in prompt else ANSWER


class Chaos:
    """A server whose models each have a vice; ``moody`` has all but hanging, at random, and is right otherwise."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.rng = random.Random(0)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, vice: str, prompt: str) -> tuple[int, bytes]:
        if vice == "moody":
            vice = self.rng.choice(["busy", "broken", "malformed", "empty", "endless", "twice", *["right"] * 8])
        match vice:
            case "busy":
                return 429, b'{"error": {"message": "slow down"}}'
            case "broken":
                return 500, b"<html>oops</html>"
            case "malformed":
                return 200, b'{"id": "c", "choices": [{"index": 0, "mess'
            case "empty":
                content: str | None = self.rng.choice(["", None])
            case "endless":
                content = "and so on " * 200_000
            case "twice":
                content = good(prompt) * 2 if "fenced" not in prompt else "```python\nprint(1)"
            case _:
                content = good(prompt)
        return 200, json.dumps(completion(content)).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        chaos = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if body["model"] == "hanging":
                    chaos.over.wait()
                    return
                status, data = chaos.answer(body["model"], body["messages"][0]["content"])
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("retry-after-ms", "1")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                """Keep the test's output clean."""

        return Handler


@pytest.fixture
def chaos() -> Iterator[Chaos]:
    made = Chaos()
    yield made
    made.over.set()
    made.server.shutdown()
    made.server.server_close()


async def play(chaos: Chaos, suite: Path, out: Path, vices: list[str], seconds: float) -> list[EpisodeSummary]:
    settings = EvalSettings(
        suite=f"synthetic:{suite}",
        models=tuple(f"openai:{vice}" for vice in vices),
        scaffolds=("react", "mle-agent", "aide"),
        repeats=42,
        budget=BudgetSettings(turns=6, model_seconds=seconds),
    )
    run = await aevaluate(settings, out, jobs=12, endpoint=Endpoint(chaos.url, "k"), allow_unisolated=True)
    return list(run.episodes)


async def test_every_episode_ends_with_the_status_it_deserves(chaos: Chaos, suite: Path, tmp_path: Path) -> None:
    talking = [vice for vice in STATUS if vice != "hanging"]
    episodes = await play(chaos, suite, tmp_path / "talking", talking, 120.0)
    episodes += await play(chaos, suite, tmp_path / "hanging", ["hanging"], 0.5)
    assert len(episodes) == 1008
    ended: dict[str, Counter[EpisodeStatus]] = {vice: Counter() for vice in STATUS}
    for episode in episodes:
        ended[episode.policy.removeprefix("openai:")][episode.status] += 1
    assert {vice: set(found) - STATUS[vice] for vice, found in ended.items() if set(found) - STATUS[vice]} == {}
    assert ended["moody"][EpisodeStatus.INFRA_ERROR] < 60
    assert all((episode.reward is None) == episode.masked for episode in episodes)
