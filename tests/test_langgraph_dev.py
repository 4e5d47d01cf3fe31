"""``langgraph dev`` serves the graphs, and a person can make a task through it as in Studio."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from sandmle.seeds import get_seed, materialize

pytestmark = pytest.mark.flow
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncLangGraphClient]:
    """A running server, ready for requests."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGSMITH_TRACING": "false"}
    options = ("--config", str(ROOT / "langgraph.json"), "--no-browser", "--no-reload", "--port", str(port))
    command = [sys.executable, "-m", "langgraph_cli", "dev", *options]
    server = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        _wait_until_started(server)
        yield get_sync_client(url=f"http://127.0.0.1:{port}")
    finally:
        os.killpg(server.pid, signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait_until_started(server: subprocess.Popen[str]) -> None:
    """Read the server's log up to the line that says so; from then on a thread swallows it."""
    assert server.stdout is not None
    seen = []
    for line in server.stdout:
        seen.append(line)
        if "Application started" in line:
            Thread(target=server.stdout.read, daemon=True).start()
            return
    raise AssertionError("".join(seen))


def test_both_graphs_are_served_with_their_forms(client: SyncLangGraphClient) -> None:
    found = {assistant["graph_id"]: assistant["assistant_id"] for assistant in client.assistants.search()}
    assert found.keys() == {"synthesis", "react"}
    schemas = client.assistants.get_schemas(found["synthesis"])
    form = schemas["context_schema"]["properties"]
    assert form["batch_seed"]["description"]
    assert "seed" in schemas["input_schema"]["properties"]
    drawn = client.assistants.get_graph(found["synthesis"], xray=True)
    assert "threshold_check" in {node["id"] for node in drawn["nodes"]}


def test_a_task_is_made_through_the_server(client: SyncLangGraphClient, tmp_path: Path) -> None:
    out = tmp_path / "tasks"
    thread = client.threads.create(thread_id=str(uuid.uuid4()))
    context = {"out": str(out), "batch_seed": 3, "n_train": 120, "n_test": 800, "max_draws": 3}
    nodes: list[str] = []
    stream = client.runs.stream(
        thread["thread_id"], "synthesis", input={"seed": "breast-cancer"}, context=context, stream_mode="updates"
    )
    for part in stream:
        assert part.event != "error", part.data
        if part.event == "updates":
            nodes += part.data
    assert nodes[-1] == "publish"
    values = client.threads.get_state(thread["thread_id"])["values"]
    assert (out / values["task_id"] / "task.json").exists()


def test_an_episode_is_played_through_the_server(client: SyncLangGraphClient, tmp_path: Path) -> None:
    task = materialize(get_seed("iris"), tmp_path)
    thread = client.threads.create(thread_id=str(uuid.uuid4()))
    context = {"task": str(task.root), "model": "scripted:dummy"}
    values = client.runs.wait(thread["thread_id"], "react", input={}, context=context)
    assert values["status"] == "answered"
    assert values["grade"]["error"] is None
