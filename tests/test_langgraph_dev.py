"""``langgraph dev`` serves the graphs, and a person can make a task through it as in Studio."""

from __future__ import annotations

import json
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


def test_all_graphs_are_served_with_their_forms(client: SyncLangGraphClient) -> None:
    found = {assistant["graph_id"]: assistant["assistant_id"] for assistant in client.assistants.search()}
    assert found.keys() == {"synthesis", "react", "mle-agent", "aide"}
    schemas = client.assistants.get_schemas(found["synthesis"])
    form = schemas["context_schema"]["properties"]
    assert form["batch_seed"]["description"]
    assert "seed" in schemas["input_schema"]["properties"]
    drawn = client.assistants.get_graph(found["synthesis"], xray=True)
    assert "threshold_check" in {node["id"] for node in drawn["nodes"]}


def test_a_person_reads_a_task_before_it_is_published(client: SyncLangGraphClient, tmp_path: Path) -> None:
    out = tmp_path / "tasks"
    thread = client.threads.create(thread_id=str(uuid.uuid4()))["thread_id"]
    context = {"out": str(out), "batch_seed": 3, "n_train": 120, "n_test": 800, "max_draws": 3, "review": True}
    nodes: list[str] = []
    stream = client.runs.stream(
        thread, "synthesis", input={"seed": "breast-cancer"}, context=context, stream_mode="updates"
    )
    for part in stream:
        assert part.event != "error", part.data
        if part.event == "updates":
            nodes += part.data
    assert nodes[-2:] == ["novelty_check", "__interrupt__"]
    state = client.threads.get_state(thread)
    assert state["next"] == ["human_review"]
    assert len(json.dumps(state["values"])) < 100_000
    (asked,) = state["interrupts"]
    assert asked["value"]["brief"].startswith("# ")
    assert asked["value"]["rule"]
    assert not list(out.glob("*/task.json"))
    values = client.runs.wait(thread, "synthesis", command={"resume": {"publish": True}}, context=context)
    assert (out / values["task_id"] / "task.json").exists()
    history = client.threads.get_history(thread, limit=50)
    assert [entry["next"] for entry in history[:3]] == [[], ["publish"], ["human_review"]]


def test_a_state_can_be_edited_and_forked(client: SyncLangGraphClient, tmp_path: Path) -> None:
    thread = client.threads.create(thread_id=str(uuid.uuid4()))["thread_id"]
    context = {"out": str(tmp_path / "tasks"), "n_train": 120, "n_test": 800}
    client.runs.wait(thread, "synthesis", input={"seed": "iris"}, context=context, interrupt_after=["data_strategist"])
    drawn = client.threads.get_state(thread)
    assert drawn["next"] == ["ml_developer"]
    edited = client.threads.update_state(thread, {"draws": 8}, as_node="data_strategist")
    assert client.threads.get_state(thread)["values"]["draws"] == 8
    client.threads.update_state(
        thread, {"route": "reject", "problem": "a person changed their mind"}, as_node="technical_writer"
    )
    values = client.runs.wait(thread, "synthesis", input=None, context=context)
    assert values["outcome"] == "discarded"
    assert values["rejections"][0]["reason"] == "a person changed their mind"
    forked = client.runs.wait(
        thread,
        "synthesis",
        input=None,
        context=context,
        checkpoint=drawn["checkpoint"],
        interrupt_after=["ml_developer"],
    )
    assert forked["draws"] == 1
    assert edited["checkpoint"]["checkpoint_id"] != drawn["checkpoint"]["checkpoint_id"]


def test_an_episode_is_played_through_the_server(client: SyncLangGraphClient, tmp_path: Path) -> None:
    task = materialize(get_seed("iris"), tmp_path)
    thread = client.threads.create(thread_id=str(uuid.uuid4()))
    context = {"task": str(task.root), "model": "scripted:dummy"}
    values = client.runs.wait(thread["thread_id"], "react", input={}, context=context)
    assert values["status"] == "answered"
    assert values["grade"]["error"] is None
