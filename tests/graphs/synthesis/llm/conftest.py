"""A local OpenAI-compatible server that plays all roles from hand-written fixtures, well or badly."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = ("bee-yards", "kiln-firings", "harbour-logs", "recipe-cards", "pump-curves", "greenhouse-nights")
FORM = {"tabular": ("bee-yards", "kiln-firings"), "text": ("harbour-logs", "recipe-cards"),
        "series": ("pump-curves", "greenhouse-nights")}  # fmt: skip
ROLES = {
    "You are the Data Strategist": "strategist",
    "You are the ML Developer": "developer",
    "You are the MLOps Engineer": "engineer",
    "You are the Technical Writer": "writer",
    "You review the brief": "reviewer",
}
RUNGS = ("dummy", "linear", "trees", "blend", "informed")
Messages = list[dict[str, str]]
Fault = Callable[[str], Any]


def part(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


def draft_of(name: str) -> dict[str, Any]:
    return json.loads(part(f"{name}.json"))


def fenced(text: str, language: str = "python") -> str:
    return f"````{language}\n{text.rstrip()}\n````\n"


class Cast:
    """What a good model says in each role."""

    def reply(self, role: str, task: str) -> str:
        return getattr(self, role)(task)

    def strategist(self, task: str) -> str:
        modality = re.search(r"of modality \*\*(\w+)\*\*", task).group(1)
        first = "iris" in task.splitlines()[0].lower()
        return "Here is my design.\n\n" + fenced(part(f"{FORM[modality][0 if first else 1]}.json"), "json")

    def developer(self, task: str) -> str:
        name, draft = self._drafted(task)
        form = draft["dna"]["modality"]
        measure = part("series_measure.txt") if form == "series" else ""
        canary = re.search(r"canary: `([^`]+)`", task).group(1)
        law = "binary" if draft["target"].get("labels") else "gaussian"
        own = part(f"{name}.py.txt") + measure
        generate = part("head.txt").replace("__CANARY__", canary) + own
        generate += part(f"publish_{form}.txt") + part(f"law_{law}.txt") + part("generate_tail.txt")
        files = {"generate.py": generate}
        for rung in RUNGS:
            head = part("baseline_head.txt") + f'RUNG = "{rung}"\n'
            files[f"baselines/{rung}.py"] = head + own + part(f"baseline_{form}.txt") + part("baseline_tail.txt")
        return "\n".join(f"### {name}\n\n{fenced(text)}" for name, text in files.items())

    def engineer(self, task: str) -> str:
        _, draft = self._drafted(task)
        text = part(f"evaluator_{draft['metric']}.txt")
        for tier in ("median", "bronze", "silver", "gold"):
            text = text.replace(f'"__{tier}__"', re.search(rf"{tier} = ([-\d.e]+)", task).group(1))
        text = text.replace("__ID__", draft["id_column"]).replace("__TARGET__", draft["target"]["column"])
        for place, label in enumerate(draft["target"].get("labels", ())):
            text = text.replace(f"__LABEL_{place}__", label)
        return f"### evaluator.py\n\n{fenced(text)}"

    def writer(self, task: str) -> str:
        _, draft = self._drafted(task)
        setting, target = draft["setting"], draft["target"]
        metric = re.search(r"metric: \*\*(.+?)\*\*, (\w+) is better", task)
        listed = re.findall(r"- `([\w./]+)`, begins with\n      (.*)", task)
        sample = next(head for name, head in listed if name == "sample_submission.csv")
        known = {factor["name"]: factor["description"] for factor in draft["factors"]}
        columns = dict.fromkeys(column for _, head in listed for column in head.split(","))
        lines = [
            f"# {draft['title']}", "## Background", setting["story"], "## Goal",
            f"{draft['question']} The competition is hosted by {setting['host']}. One row is one {setting['entity']}.",
            "## Data", setting["collection"], "\n".join(f"- `{name}`" for name, _ in listed),
            "\n".join(f"- `{column}`: {known.get(column, 'as recorded')}" for column in columns),
            f"The target `{target['column']}`: {target['description']}. {', '.join(target.get('labels', ()))}",
            "## Evaluation",
            f"Submissions are scored by {metric.group(1)}. {metric.group(2).capitalize()} is better.",
            "## Submission format",
            f"Write `submission.csv` with the columns `{draft['id_column']}` and `{target['column']}`:",
            f"```csv\n{sample}\n```",
        ]  # fmt: skip
        return "### description.md\n\n" + fenced("\n\n".join(lines), "markdown")

    def reviewer(self, task: str) -> str:
        return fenced('{"faults": []}', "json")

    def _drafted(self, task: str) -> tuple[str, dict[str, Any]]:
        title = task.splitlines()[0].removeprefix("# ")
        return next((name, draft) for name in NAMES if (draft := draft_of(name))["title"] == title)


class FixtureServer:
    """The server.

    ``faults`` maps a role to what its next calls get instead: a changed reply, a triple (status, text, headers), a cut
    reply with its finish reason, or an Event to wait for before the connection is cut.
    """

    def __init__(self) -> None:
        self.cast = Cast()
        self.faults: dict[str, list[Fault]] = {}
        self.calls: Counter[str] = Counter()
        self.asked: list[tuple[str, str]] = []
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, messages: Messages) -> Any:
        role = next(name for start, name in ROLES.items() if messages[0]["content"].startswith(start))
        good = self.cast.reply(role, messages[1]["content"])
        with self.lock:
            self.calls[role] += 1
            self.asked.append((role, messages[-1]["content"]))
            pending = self.faults.get(role, [])
            fault = pending.pop(0) if pending else None
        return fault(good) if fault else good

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fixture = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                found = fixture.answer(body["messages"])
                if isinstance(found, threading.Event):
                    found.wait(30)
                    return
                status, content, headers = 200, found, {}
                finish = "stop"
                if isinstance(found, tuple):
                    status, content, headers = found
                if isinstance(content, dict):
                    finish, content = content["finish_reason"], content["text"]
                data = json.dumps(_completion(content, finish) if status == 200 else {"error": {"message": content}})
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data.encode())))
                self.end_headers()
                self.wfile.write(data.encode())

            def log_message(self, *args: Any) -> None:
                """Keep the test's output clean."""

        return Handler


def _completion(content: str, finish: str) -> dict[str, Any]:
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "fixture",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }  # fmt: skip


@pytest.fixture
def server() -> Iterator[FixtureServer]:
    made = FixtureServer()
    yield made
    made.close()


TEAM = """
repairs = 2

[roles]
strategist = "fixture"
developer = "fixture"
engineer = "fixture"
writer = "fixture"
reviewer = "fixture"

[models.fixture]
name = "fixture-model"
base_url = "{url}"
timeout_s = 5
first_delay_s = 0.01
input_price = 1.0
output_price = 2.0
"""


@pytest.fixture
def team_file(server: FixtureServer, tmp_path: Path) -> Path:
    path = tmp_path / "team.toml"
    path.write_text(TEAM.format(url=server.url), encoding="utf-8")
    return path
