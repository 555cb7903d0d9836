"""`textmix serve` as a process: many clients at once, an end that loses nothing, and what it refuses to do."""

from __future__ import annotations

import signal
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_running import SECONDS, TOKEN, events_of, server_process, some_documents, wait_until

from textmix.cli import main
from textmix.cli import serve as command
from textmix.cli.serve import serve_state
from textmix.stream.durable import DurableStream

N_CLIENTS = 4
N_BATCHES = 10


class LoadingClient(threading.Thread):
    """Adds and removes until it is done, or the server is gone; notes what was acknowledged."""

    def __init__(self, address: str, name: str, n_batches: int | None) -> None:
        super().__init__()
        self._address, self._own, self._n_batches = address, name, n_batches
        self.added: set[str] = set()
        self.removed: set[str] = set()
        self.unsure: set[str] = set()  # asked for, without an answer
        self.codes: set[int] = set()

    def run(self) -> None:
        with httpx.Client(base_url=self._address, timeout=SECONDS) as client:
            place = 0
            while self._n_batches is None or place < self._n_batches:
                documents = some_documents(20, f"{self._own}-{place}-")
                if not self._send(client, documents) or not self._take_out(client, documents[0]["id"]):
                    return
                place += 1

    def _send(self, client: httpx.Client, documents: list[dict[str, str]]) -> bool:
        ids = {document["id"] for document in documents}
        self.unsure |= ids
        try:
            response = client.post("/documents", json={"documents": documents})
        except httpx.TransportError:
            return False
        self.codes.add(response.status_code)
        assert [answer["id"] for answer in response.json()["documents"]] == [document["id"] for document in documents]
        self.unsure -= ids
        self.added |= ids
        return True

    def _take_out(self, client: httpx.Client, id: str) -> bool:
        self.unsure.add(id)
        self.added.remove(id)
        try:
            response = client.delete(f"/documents/{id}")
        except httpx.TransportError:
            return False
        self.codes.add(response.status_code)
        self.unsure.remove(id)
        self.removed.add(id)
        return True


class ListeningClient(threading.Thread):
    """Listens to the events until their stream ends."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self.events: list[dict[str, Any]] = []
        self.has_ended = False

    def run(self) -> None:
        with httpx.stream("GET", f"{self._address}events/stream?after=0", timeout=SECONDS) as response:
            self.events.extend(events_of(response.iter_lines()))
        self.has_ended = True


def check_kept(folder: Path, clients: list[LoadingClient]) -> None:
    """What was acknowledged is there, once, and the statistics are those of a recount."""
    added = set().union(*(client.added for client in clients))
    removed = set().union(*(client.removed for client in clients))
    unsure = set().union(*(client.unsure for client in clients))
    with DurableStream(folder, create=False) as stream:
        assert stream.check() == []
        assert [id for id in added if stream.document(id) is None] == []
        assert [id for id in removed if stream.document(id) is not None] == []
        assert len(added) <= stream.n_documents <= len(added) + len(unsure)


def test_clients_at_once_get_all_their_answers_and_sigterm_under_load_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with server_process(folder) as server:
        listener = ListeningClient(server.address)
        listener.start()
        clients = [LoadingClient(server.address, f"some{i}", N_BATCHES) for i in range(N_CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert [client.codes for client in clients] == [{200}] * N_CLIENTS
        assert all(len(client.added) == 19 * N_BATCHES for client in clients)

        late = [LoadingClient(server.address, f"late{i}", None) for i in range(N_CLIENTS)]
        for client in late:
            client.start()
        wait_until(lambda: all(len(client.added) > 100 for client in late))
        code, said = server.stop(signal.SIGTERM)
        for client in [*late, listener]:
            client.join()
        assert listener.has_ended
        assert {"born", "state"} <= {event["event"] for event in listener.events}
        assert (code, said.splitlines()[-1]) == (0, "Stopped; everything that was answered is on disk.")
        assert all(client.codes == {200} for client in late)
    check_kept(folder, [*clients, *late])


def test_the_token_is_asked_for_and_never_said(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    options = ("--host", "0.0.0.0", "--token-file", str(tmp_path / "token"), "--max-batch", "2")
    with server_process(tmp_path / "state", *options, TEXTMIX_TOKEN="another-that-is-not-used") as server:
        address = server.address.replace("0.0.0.0", "127.0.0.1")
        with httpx.Client(base_url=address, timeout=SECONDS) as client:
            assert client.get(f"/clusters?token={TOKEN}").status_code == 401
            assert (
                client.get("/clusters", headers={"authorization": "Bearer another-that-is-not-used"}).status_code == 401
            )
            client.headers["authorization"] = f"Bearer {TOKEN}"
            assert client.get("/clusters", headers={"host": "textmix.example"}).status_code == 200
            assert client.post("/documents", json={"documents": some_documents(3)}).status_code == 422
            assert client.post("/documents", json={"documents": some_documents(2)}).status_code == 200
        code, said = server.stop(signal.SIGINT)
    assert code == 0
    assert TOKEN not in said


def test_other_machines_are_not_served_without_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TEXTMIX_TOKEN", raising=False)
    monkeypatch.setattr("sys.argv", ["textmix", "serve", str(tmp_path / "state"), "--host", "0.0.0.0"])
    monkeypatch.setattr("signal.signal", lambda *_: None)  # those of the tests stay
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "textmix: --host 0.0.0.0 can be reached by other machines, so it needs a token: give --token-file or set "
        "TEXTMIX_TOKEN, or leave out --host\n"
    )
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.2", "textmix.example"])
def test_addresses_of_others_need_a_token(tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEXTMIX_TOKEN", raising=False)
    with pytest.raises(ValueError, match="needs a token"):
        serve_state(tmp_path / "state", host, 0, None, {})


@pytest.mark.parametrize("token", ["short", "with blanks in the middle", "", "ünusual-but-long-enough"])
def test_a_token_that_is_none_is_refused_without_being_shown(tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token)
    with pytest.raises(ValueError, match="must have at least 16 characters") as error:
        serve_state(tmp_path / "state", "127.0.0.1", 0, tmp_path / "token", {})
    assert not token or token not in str(error.value)


def test_nothing_is_left_to_collect_when_the_process_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr(command, "serve", lambda *_, **__: done.append("serve"))
    monkeypatch.setattr("gc.freeze", lambda: done.append("freeze"))
    serve_state(tmp_path / "state", "127.0.0.1", 0, None, {})
    assert done == ["serve", "freeze"]
    assert capsys.readouterr().out == "Stopped; everything that was answered is on disk.\n"


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="cannot listen at"):
            serve_state(tmp_path / "state", "127.0.0.1", taken.getsockname()[1], None, {})
    assert not (tmp_path / "state").exists()
