"""An OpenAI-compatible endpoint on this machine, for every test that asks a model."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

HANG = "hang"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job, so in its children
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _completion(content: str | None, **extras: Any) -> dict[str, Any]:
    """A chat completion as an OpenAI-compatible endpoint writes it; extras go into the message."""
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content} | extras}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    }


class Endpoint:
    """An OpenAI-compatible server on 127.0.0.1 that gives the queued answers in order, then repeats the last.

    An answer is a completion, a pair (status, body) to which headers may be added, or ``HANG``.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.arrived = threading.Condition()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def wait_for(self, requests: int) -> None:
        """Block until so many requests have come in."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= requests, timeout=30)

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with endpoint.arrived:
                    endpoint.requests.append(json.loads(body))
                    endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                    endpoint.arrived.notify_all()
                answer = endpoint.answers.pop(0) if len(endpoint.answers) > 1 else endpoint.answers[0]
                if answer == HANG:
                    endpoint.released.wait()
                    return
                status, content, *more = answer if isinstance(answer, tuple) else (200, json.dumps(answer))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                for name, value in more[0].items() if more else [("retry-after-ms", "1")]:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content.encode())))
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, *args: Any) -> None:
                """Keep the test's output clean."""

        return Handler


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture(name="completion")
def completion_maker() -> Callable[..., dict[str, Any]]:
    return _completion


@pytest.fixture
def hang() -> str:
    return HANG
