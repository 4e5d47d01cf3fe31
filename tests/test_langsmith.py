"""Traces and datasets, as a server that speaks LangSmith's protocol receives them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.langsmith import upload_dataset
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task, load_tasks

pytestmark = pytest.mark.flow
NOW = "2026-01-01T00:00:00Z"
REPLY = {
    "id": "c", "object": "chat.completion", "created": 0, "model": "stub",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "No."}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}  # fmt: skip


class LangSmith:
    """Datasets by name with the bytes of each example by id, and the bytes of every trace. It also plays a model."""

    def __init__(self) -> None:
        self.datasets: dict[str, str] = {}
        self.examples: dict[str, dict[str, bytes]] = {}
        self.traces: list[bytes] = []
        self.refuse = False
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, method: str, path: str, body: bytes) -> Any:
        route = path.partition("?")[0]
        if route == "/info":
            return {"version": "0.9", "instance_flags": {"dataset_examples_multipart_enabled": True}}
        if route == "/datasets" and method == "POST":
            name = json.loads(body)["name"]
            self.datasets[name] = str(uuid.uuid4())
            return self._dataset(name)
        if route == "/datasets":
            name = path.rpartition("name=")[2]
            return [self._dataset(name)] if name in self.datasets else []
        if route == "/examples":
            return [
                {"id": place, "created_at": NOW, "dataset_id": uuid.UUID(int=0).hex, "inputs": {}}
                for place in self.examples
            ]
        if route.endswith("/examples"):
            for head, text in re.findall(
                rb'name="([^"]+)"\r\nContent-Type: application/json\r\n\r\n(.*?)\r\n--', body, re.S
            ):
                place, _, part = head.decode().partition(".")
                self.examples.setdefault(place, {})[part or "example"] = text
            return {"count": len(self.examples), "example_ids": list(self.examples)}
        if route.startswith("/runs"):
            self.traces.append(body)
            return {}
        return REPLY if route.endswith("/chat/completions") else []

    def _dataset(self, name: str) -> dict[str, str]:
        return {"id": self.datasets[name], "name": name, "created_at": NOW, "tenant_id": uuid.UUID(int=0).hex}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                data = json.dumps(fake.answer(self.command, self.path, body)).encode()
                self.send_response(401 if fake.refuse else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                """Keep the test's output clean."""

        return Handler


@pytest.fixture
def langsmith(monkeypatch: pytest.MonkeyPatch) -> Iterator[LangSmith]:
    made = LangSmith()
    monkeypatch.setenv("LANGSMITH_API_KEY", "a-key")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", made.url)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    folder = tmp_path_factory.mktemp("tasks")
    for name in ("iris", "wine"):
        materialize(get_seed(name), folder)
    return load_tasks(folder)


def test_a_dataset_holds_briefs_and_thresholds_and_no_answers(langsmith: LangSmith, tasks: list[Task]) -> None:
    seen: list[int] = []
    assert upload_dataset(tasks, "micro", on_progress=seen.append) == (2, 0)
    assert seen == [0, 2]
    sent = [{part: json.loads(text) for part, text in example.items()} for example in langsmith.examples.values()]
    assert {example["inputs"]["task"] for example in sent} == {task.id for task in tasks}
    assert all("## " in example["inputs"]["brief"] for example in sent)
    assert all(example["outputs"]["metric"] for example in sent)
    assert {example["example"]["metadata"]["seed"] for example in sent} == {"iris", "wine"}
    everything = b"".join(part for example in langsmith.examples.values() for part in example.values())
    assert b"Usage" not in everything
    assert b"canary" not in everything.lower()


def test_what_is_there_is_left_alone(langsmith: LangSmith, tasks: list[Task]) -> None:
    assert upload_dataset(tasks[:1], "micro") == (1, 0)
    assert upload_dataset(tasks, "micro") == (1, 1)
    assert upload_dataset(tasks, "micro") == (0, 2)
    assert len(langsmith.datasets) == 1


def test_what_is_missing_is_said(langsmith: LangSmith, tasks: list[Task], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="name"):
        upload_dataset(tasks, " ")
    langsmith.refuse = True
    with pytest.raises(EnvironmentProblem, match="refuses the key in LANGSMITH_API_KEY"):
        upload_dataset(tasks, "micro")
    monkeypatch.delenv("LANGSMITH_API_KEY")
    with pytest.raises(EnvironmentProblem, match="LANGSMITH_API_KEY is not set"):
        upload_dataset(tasks, "micro")


def test_a_batch_is_traced_where_the_environment_asks_for_it(langsmith: LangSmith, tmp_path: Path) -> None:
    arguments = ("synthesize", "--n", "1", "--seeds", "iris", "--team", "developer=openai:stub", "--out", "out")
    environment = {**os.environ, "OPENAI_BASE_URL": f"{langsmith.url}/v1", "OPENAI_API_KEY": "another-key"}
    command = [sys.executable, "-c", "from sandmle.cli import run; run()", *arguments]
    traced = subprocess.run(
        command,
        cwd=tmp_path,
        env={**environment, "LANGSMITH_TRACING": "true", "LANGSMITH_PROJECT": "micro"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "gave no task" in traced.stdout, traced.stderr
    sent = b"".join(langsmith.traces)
    for part in (b"synthesis slot-00000", b"ml_developer", b"batch_seed"):
        assert part in sent
    assert b"another-key" not in sent
