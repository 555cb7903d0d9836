"""Servers for the tests: in a thread of this process, or a process of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the server needs FastAPI: pip install 'textmix[serve]'")
from textmix.stream.durable import DurableStream
from textmix.stream.server.app import Server, create_app
from textmix.stream.server.service import Service
from textmix.stream.server.settings import Settings

TEXTMIX = [str(Path(sys.executable).parent / "textmix")]
TOKEN = "a-token-of-some-length"
SECONDS = 600  # on a busy machine, with kernels to be compiled first
TOPICS = {
    "parcel": ["parcel late courier depot", "courier lost parcel", "parcel courier depot delay", "late parcel courier"],
    "login": ["password login account reset", "account password forgotten", "login reset account", "password reset"],
    "refund": ["refund invoice charged twice", "charged twice refund", "invoice refund charged", "refund charged card"],
}


def some_documents(n: int, prefix: str = "d") -> list[dict[str, str]]:
    """Documents of three topics in turn."""
    topics = list(TOPICS.values())
    return [{"id": f"{prefix}{i}", "text": topics[i % 3][i // 3 % 4]} for i in range(n)]


class RunningServer:
    """A server in a thread, and a client for it."""

    def __init__(self, client: httpx.Client, service: Service, connections: set[Any]) -> None:
        self.client = client
        self.service = service
        self.connections = connections

    def add(self, *texts: str, prefix: str = "t") -> list[dict[str, Any]]:
        documents = [{"id": f"{prefix}{place}", "text": text} for place, text in enumerate(texts)]
        response = self.client.post("/documents", json={"documents": documents})
        assert response.status_code == 200, response.text
        found: list[dict[str, Any]] = response.json()["documents"]
        return found


@contextmanager
def running(stream: DurableStream, settings: Settings | None = None, port: int = 0) -> Iterator[RunningServer]:
    """The stream served on a free port, until the block ends; the stream stays open."""
    app = create_app(stream, settings)
    has_started = threading.Event()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        server = Server(app, settings or Settings(), has_started.set)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert has_started.wait(SECONDS)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=address, timeout=SECONDS) as client:
                yield RunningServer(client, app.state.service, server.server_state.connections)
        finally:
            server.should_exit = True
            thread.join()


class ServerProcess:
    """`textmix serve` in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str, greeting: str) -> None:
        self.process = process
        self.address = address
        self.greeting = greeting

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code, and all that it has said."""
        self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, self.greeting + said


@contextmanager
def server_process(folder: Path, *options: str, **environment: str) -> Iterator[ServerProcess]:
    """A server on a free port."""
    command = [*TEXTMIX, "serve", str(folder), "--port", "0", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env={**os.environ, "COLUMNS": "300", **environment}, **pipes) as process:
        try:
            greeting = process.stdout.readline()
            address = re.search(r"http://[^/]+/", greeting)
            assert address, greeting + process.stdout.read()
            yield ServerProcess(process, address[0], greeting)
        finally:
            if process.poll() is None:
                process.kill()


def wait_until(condition: Callable[[], Any]) -> None:
    """Waits, for as long as a busy machine may need, until something is so."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.002)


def events_of(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Server-sent events: id, event, and the data as an object; a heartbeat is one with a comment."""
    event: dict[str, Any] = {}
    for line in lines:
        field, _, value = line.partition(": ")
        if line.startswith(":"):
            yield {"comment": line}
        elif line:
            event[field] = json.loads(value) if field == "data" else value
        elif "data" in event:
            yield event
            event = {}
        else:
            event = {}
