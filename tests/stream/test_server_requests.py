"""The server's answers: documents come and go, and what is not allowed gets its code."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_running import SECONDS, TOPICS, RunningServer, running, some_documents, wait_until

from textmix.stream.durable import Answer, DurableStream
from textmix.stream.lines import Removal, parse_line
from textmix.stream.server import gate
from textmix.stream.server.settings import Limits, Settings

SMALL = Limits(max_body=5_000, max_batch=5, max_length=50, max_queue=2)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with DurableStream(tmp_path_factory.mktemp("state")) as stream, running(stream) as server:
        server.client.post("/documents", json={"documents": some_documents(60)})
        yield server


@pytest.fixture(scope="module")
def client(served: RunningServer) -> httpx.Client:
    return served.client


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server with small limits."""
    with DurableStream(tmp_path_factory.mktemp("state")) as stream, running(stream, Settings(SMALL)) as server:
        yield server.client


def post(client: httpx.Client, *documents: dict[str, Any]) -> httpx.Response:
    return client.post("/documents", json={"documents": list(documents)})


def detail(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/json"
    text: str = response.json()["detail"]
    return text


# Documents


def test_answers_come_in_the_order_of_the_batch(client: httpx.Client) -> None:
    answers = post(client, {"id": "b", "text": "parcel courier"}, {"id": 7, "text": ""}, {"text": "login"}).json()
    first, without_words, made_up = answers["documents"]
    assert first["id"] == "b"
    assert first["cluster"] == client.get("/documents/d0").json()["cluster"]
    assert 0 < first["probability"] <= 1
    assert without_words == {
        "id": "7", "cluster": -1, "name": "", "probability": None, "outlier_score": None, "new": False,
    }  # fmt: skip
    assert client.get(f"/documents/{made_up['id']}").json()["text"] == "login"


def test_a_document_can_be_looked_up_and_taken_out(client: httpx.Client) -> None:
    post(client, {"id": "one", "text": "a parcel\nfrom the courier", "time": "2024-03-04T06:02:53+01:00"})
    found = client.get("/documents/one").json()
    assert (found["text"], found["time"]) == ("a parcel\nfrom the courier", "2024-03-04T05:02:53Z")
    assert client.delete("/documents/one").json() == {"removed": ["one"]}
    assert client.get("/documents/one").status_code == 404
    assert client.delete("/documents/one").status_code == 404


def test_the_same_id_twice_counts_once(client: httpx.Client) -> None:
    before = client.get("/clusters").json()["n_documents"]
    post(client, {"id": "twice", "text": "first parcel"}, {"id": "twice", "text": "second parcel"})
    post(client, {"id": "twice", "text": "third parcel"})
    assert client.get("/documents/twice").json()["text"] == "third parcel"
    assert client.get("/clusters").json()["n_documents"] == before + 1


@pytest.mark.parametrize("id", ["a/b", "remove", "ü%20 ?#", "..x", "<script>", "a" * 1000, "x\n", "\r\nx", "\0"])
def test_an_id_may_be_any_text(client: httpx.Client, id: str) -> None:
    post(client, {"id": id, "text": "parcel courier"})
    address = f"/documents/{httpx.QueryParams({'': id}).__str__()[1:].replace('+', '%20')}"
    assert client.get(address).json()["id"] == id
    assert client.delete(address).json() == {"removed": [id]}


def test_a_line_break_is_part_of_an_id_whichever_way_it_comes(served: RunningServer) -> None:
    post(served.client, {"id": "abc", "text": "parcel"}, {"id": "abc\n", "text": "courier"})
    assert served.client.get("/documents/abc%0A").json()["id"] == "abc\n"
    stored = served.service.stream.document("abc\n")
    assert stored is not None
    assert stored.text == "courier"
    assert parse_line(b'{"remove": "abc\\n"}') == Removal("abc\n")
    assert served.client.delete("/documents/abc%0A").json() == {"removed": ["abc\n"]}
    assert served.client.delete("/documents/abc%0A").status_code == 404
    assert served.client.get("/documents/abc").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/clusters%0A"), ("GET", "/healthz%0A"), ("POST", "/documents%0A"), ("POST", "/documents/remove%0A")],
)
def test_a_path_with_a_line_break_at_its_end_is_another_path(client: httpx.Client, method: str, path: str) -> None:
    response = client.request(method, path, json={"documents": [], "ids": []} if method == "POST" else None)
    assert (response.status_code, detail(response)) == (404, "Not Found")


def test_bytes_that_are_not_utf8_are_not_taken_for_another_id(client: httpx.Client) -> None:
    post(client, {"id": "abc\ufffd", "text": "parcel"})
    refused = client.delete("/documents/abc%FF")
    assert (refused.status_code, detail(refused)) == (422, "the path is not UTF-8")
    assert client.delete("/documents/abc%EF%BF%BD").status_code == 200


def test_a_number_as_an_id_is_taken_as_its_digits(client: httpx.Client) -> None:
    answers = post(client, *({"id": id, "text": "parcel"} for id in (62, -62.0, 0.5))).json()["documents"]
    assert [answer["id"] for answer in answers] == ["62", "-62.0", "0.5"]
    assert [parse_line(b'{"remove": %s}' % id).id for id in (b"62", b"-62.0", b"0.5")] == ["62", "-62.0", "0.5"]
    assert client.post("/documents/remove", json={"ids": [62, -62.0]}).json() == {"removed": ["62", "-62.0"]}


def test_several_are_taken_out_at_once_and_unknown_ones_passed_over(client: httpx.Client) -> None:
    post(client, {"id": "x1", "text": "parcel"}, {"id": "42", "text": "parcel"})
    assert client.post("/documents/remove", json={"ids": ["x1", "nobody", 42, "x1"]}).json() == {
        "removed": ["x1", "42"]
    }


def test_an_empty_batch_has_an_empty_answer(client: httpx.Client) -> None:
    assert post(client).json() == {"documents": []}
    assert client.post("/documents/remove", json={"ids": []}).json() == {"removed": []}
    assert client.post("/assign", json={"texts": []}).json() == {"texts": []}


# Clusters


def test_clusters_come_by_size_in_pages(client: httpx.Client) -> None:
    everything = client.get("/clusters", params={"limit": 1000}).json()
    sizes = [cluster["size"] for cluster in everything["clusters"]]
    assert sizes == sorted(sizes, reverse=True)
    assert everything["n_clusters"] == len(sizes) >= 3
    assert everything["next"] is None
    first = client.get("/clusters", params={"limit": 2, "words": 1}).json()
    second = client.get("/clusters", params={"limit": 2, "offset": first["next"]}).json()
    assert [*first["clusters"], *second["clusters"]][0]["id"] == everything["clusters"][0]["id"]
    assert [page["id"] for page in second["clusters"]] == [page["id"] for page in everything["clusters"][2:4]]
    assert all(len(cluster["words"]) == 1 for cluster in first["clusters"])
    newest = client.get("/clusters", params={"order": "newest"}).json()["clusters"]
    assert [cluster["id"] for cluster in newest] == sorted(
        (page["id"] for page in everything["clusters"]), reverse=True
    )
    page = client.get("/clusters", params={"order": "newest", "limit": 1, "offset": 1}).json()
    assert (page["clusters"], page["next"]) == (newest[1:2], 2)


def test_a_cluster_has_words_and_the_texts_that_came_last(client: httpx.Client) -> None:
    id = client.get("/documents/d0").json()["cluster"]
    cluster = client.get(f"/clusters/{id}", params={"examples": 3}).json()
    assert "parcel" in {entry["word"] for entry in cluster["words"]}
    assert len(cluster["examples"]) == 3
    assert all(example["cluster"] == id for example in cluster["examples"])
    assert client.get("/clusters/987654321").status_code == 404


def test_texts_are_assigned_and_nothing_is_learned(client: httpx.Client) -> None:
    before = client.get("/clusters").json()
    known, strange = client.post("/assign", json={"texts": ["parcel courier depot", "zebra"]}).json()["texts"]
    assert known["cluster"] == client.get("/documents/d0").json()["cluster"]
    assert known["outlier_score"] < 0
    assert set(strange) == {"cluster", "name", "probability", "outlier_score"}
    assert client.get("/clusters").json() == before


def test_events_are_told_after_a_number(client: httpx.Client) -> None:
    events = client.get("/events").json()["events"]
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "born"
    rest = client.get("/events", params={"after": 2, "limit": 1}).json()
    assert rest == {"events": [events[2]], "last": 3}
    assert client.get("/events", params={"after": 10**9}).json() == {"events": [], "last": 10**9}


# Limits and mistakes


def test_a_body_over_the_limit_is_refused(small: httpx.Client) -> None:
    response = small.post("/documents", content=b" " * 5_001)
    assert (response.status_code, detail(response)) == (413, "the body has more than 5,000 bytes; send smaller batches")
    assert small.post("/documents", content=b"9" * 4_000_000).status_code == 413


def test_a_body_of_unknown_length_is_refused_while_it_is_read(small: httpx.Client) -> None:
    response = small.post("/documents", content=(b" " * 1_000 for _ in range(6)))
    assert response.status_code == 413
    fits = small.post(
        "/documents", content=iter([b'{"documents":', b"[]}"]), headers={"content-type": "application/json"}
    )
    assert fits.status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/documents", {"documents": [{"text": "x"}] * 6}, "documents: at most 5 in a batch, not 6"),
        ("/documents", {"documents": [{"text": "x" * 51}]}, "documents[0].text: at most 50 characters, not 51"),
        ("/documents/remove", {"ids": ["x"] * 6}, "ids: at most 5 in a batch, not 6"),
        ("/assign", {"texts": ["x", "x" * 51]}, "texts[1]: at most 50 characters, not 51"),
    ],
)
def test_a_batch_over_the_limits_is_refused(small: httpx.Client, path: str, body: object, message: str) -> None:
    response = small.post(path, json=body)
    assert (response.status_code, detail(response)) == (422, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "body: Field required"),
        (b"{", "the body is not JSON: see character 1"),
        (b"\xff\xfe", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (b'{"documents": [{"id": ' + b"9" * 5_000 + b', "text": "x"}]}', "the body is not JSON"),
        (b"[]", "body: Input should be a valid dictionary"),
        (b"{}", "documents: Field required"),
        (b'{"documents": [{"text": "x"}, {"id": "1"}]}', "documents[1].text: Field required"),
        (b'{"documents": [{"text": 5}]}', "documents[0].text: Input should be a valid string"),
        (b'{"documents": [{"text": NaN}]}', "documents[0].text: Input should be a valid string"),
        (b'{"documents": [{"text": "x", "id": "\\ud800"}]}', "documents[0].id: Input should be a valid string"),
        (b'{"documents": [{"text": "x", "tiem": 1}]}', "documents[0]: has a field that is not known: tiem"),
        (b'{"documents": [{"text": "x"}], "doc uments": 1}', "body: has a field that is not known"),
        (
            b'{"documents": [{"text": 5}, {"text": 5}]}',
            "documents[0].text: Input should be a valid string (1 more such error)",
        ),
        (b'{"documents": [{}, {}, {}]}', "documents[0].text: Field required (2 more such errors)"),
        (b'{"documents": [{"text": "x", "\\ud800": 1}]}', "documents[0]: Input should be a valid string"),
        (b'{"documents": [{"text": "x", "id": ""}]}', "documents[0].id"),
        (b'{"documents": [{"text": "x", "id": true}]}', "documents[0].id"),
        (b'{"documents": [{"text": "x", "time": "soon"}]}', "documents[0]: 'soon' is no time; write 2024-03-04"),
        (b'{"documents": [{"text": "x", "time": 1e300}]}', "documents[0]: '1e+300' is no time"),
        (b'{"documents": [{"text": "x", "time": NaN}]}', "documents[0].time"),
        (b'{"documents": [{"text": "x", "id": 9007199254740992}]}', "documents[0].id"),
        (b'{"documents": [{"text": "x", "id": NaN}]}', "documents[0].id"),
    ],
)
def test_a_malformed_batch_is_refused_with_its_place(client: httpx.Client, body: bytes, message: str) -> None:
    response = client.post("/documents", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert detail(response).startswith(message)


def test_half_a_character_is_replaced(client: httpx.Client) -> None:
    body, headers = b'{"documents": [{"id": "half", "text": "parcel \\ud800"}]}', {"content-type": "application/json"}
    assert client.post("/documents", content=body, headers=headers).status_code == 200
    assert client.get("/documents/half").json()["text"] == "parcel \ufffd"
    assert client.post("/assign", content=b'{"texts": ["parcel \\ud800"]}', headers=headers).status_code == 200


def test_nothing_of_a_refused_batch_is_kept(client: httpx.Client) -> None:
    assert post(client, {"id": "kept?", "text": "parcel"}, {"id": "bad", "text": 5}).status_code == 422
    assert client.get("/documents/kept?").status_code == 404


def test_a_body_must_say_that_it_is_json(client: httpx.Client) -> None:
    response = client.post("/documents", content=b'{"documents": []}')
    assert response.status_code == 422
    assert "header Content-Type: application/json" in detail(response)
    form = {"content-type": "application/x-www-form-urlencoded"}  # what curl -d says
    assert detail(client.post("/assign", content=b'{"texts": []}', headers=form)) == detail(response)
    plain = {"content-type": "text/plain"}  # what a page of another site can send without being asked
    assert client.post("/documents", content=b'{"documents": []}', headers=plain).status_code == 422


@pytest.mark.parametrize("name", ["<script>", "a b", "x" * 41, "pass:word"])
def test_a_field_that_does_not_look_like_one_is_not_repeated(client: httpx.Client, name: str) -> None:
    response = client.post("/documents", json={"documents": [{"text": "x", name: 1}]})
    assert detail(response) == "documents[0]: has a field that is not known"


@pytest.mark.parametrize(
    "path",
    [
        "/clusters?limit=0", "/clusters?limit=1001", "/clusters?offset=-1", "/clusters?order=name", "/clusters/x",
        "/clusters/-1", "/events?after=x", f"/events?after={2**63}", f"/clusters?offset={2**63}", f"/clusters/{2**63}",
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 422


def test_unknown_paths_and_methods_are_told(client: httpx.Client) -> None:
    assert client.get("/nothing").status_code == 404
    response = client.put("/clusters", json={})
    assert (response.status_code, response.headers["allow"]) == (405, "GET")
    assert client.put("/documents/1", json={}).headers["allow"] == "DELETE, GET"
    assert client.put("/documents/remove", json={}).headers["allow"] == "POST"
    assert client.put("/documents/remove%3Fx", json={}).headers["allow"] == "DELETE, GET"
    assert client.get("/docs").status_code == 404  # FastAPI's own would load scripts from elsewhere


def test_a_body_that_does_not_arrive_is_given_up(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.01)
    address = (client.base_url.host, client.base_url.port)
    head = b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    with socket.create_connection(address, SECONDS) as connection:
        connection.sendall(head + b'{"docu')
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_arrives_byte_by_byte_is_given_up(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.2)
    address = (client.base_url.host, client.base_url.port)
    head = (
        b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n"
    )
    with socket.create_connection(address, SECONDS) as connection:
        connection.sendall(head)
        connection.settimeout(0.01)  # between two bytes
        for _ in range(998):
            try:
                answer = connection.recv(1000)
                break
            except TimeoutError:
                with suppress(ConnectionError):  # closed just now: its answer is read next
                    connection.sendall(b" ")
        assert answer.startswith(b"HTTP/1.1 408 ")


class HeldStream(DurableStream):
    """A stream that adds when it is allowed to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.allowed = threading.Event()

    def add(self, documents: Any) -> list[Answer]:
        self.allowed.wait()
        return super().add(documents)


def test_a_full_queue_answers_429_and_forgets_none_that_wait(tmp_path: Path) -> None:
    with HeldStream(tmp_path / "state") as stream, running(stream, Settings(SMALL)) as served:
        codes: list[int] = []

        def send(id: str) -> threading.Thread:
            thread = threading.Thread(
                target=lambda: codes.append(post(served.client, {"id": id, "text": "parcel"}).status_code)
            )
            thread.start()
            return thread

        threads = [send("worked on")]
        wait_until(lambda: served.service.writer.n_taken == 1)
        threads += [send("first to wait"), send("second to wait")]
        wait_until(lambda: served.service.writer.n_waiting == 2)
        refused = post(served.client, {"id": "too late", "text": "parcel"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "textmix_queue_length 2.0" in served.client.get("/metrics").text
        stream.allowed.set()
        for thread in threads:
            thread.join()
        assert codes == [200, 200, 200]
        assert served.client.get("/clusters").json()["n_documents"] == 3


class FullDisk(DurableStream):
    """A stream that cannot write."""

    def add(self, documents: Any) -> list[Answer]:
        raise OSError(28, "No space left on device")


def test_a_disk_that_takes_nothing_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with FullDisk(tmp_path / "state") as stream, running(stream) as served:
        response = post(served.client, {"id": "1", "text": "parcel"})
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        (record,) = (record for record in caplog.records if record.name == "textmix.serve")
        assert record.getMessage().startswith("nothing was stored: ")
        assert record.exc_info is None  # one line
        assert served.client.get("/healthz").status_code == 200


class BrokenStream(DurableStream):
    """A stream with a mistake in it."""

    def document(self, id: str) -> None:
        raise RuntimeError("a secret of the inside")


def test_a_failure_is_answered_and_does_not_show_the_inside(tmp_path: Path) -> None:
    with BrokenStream(tmp_path / "state") as stream, running(stream) as served:
        response = served.client.get("/documents/1")
        assert (response.status_code, detail(response)) == (500, "the server failed; its log says why")
        assert response.headers["x-content-type-options"] == "nosniff"


# Numbers


def test_metrics_count_documents_clusters_and_requests_by_route(served: RunningServer) -> None:
    served.client.get("/documents/nobody-1")
    text = served.client.get("/metrics").text
    clusters = served.client.get("/clusters").json()
    assert f"textmix_documents {clusters['n_documents']}.0" in text
    assert f"textmix_clusters {clusters['n_clusters']}.0" in text
    assert 'textmix_requests_total{code="404",method="GET",route="/documents/{id}"}' in text
    assert "nobody-1" not in text
    assert "textmix_batch_seconds_count" in text


def test_topics_become_clusters(client: httpx.Client) -> None:
    clusters = {client.get(f"/documents/d{place}").json()["cluster"] for place in range(len(TOPICS))}
    assert len(clusters) == len(TOPICS)


# New fits


def test_all_documents_are_clustered_anew_in_the_background(tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state") as stream, running(stream) as server:
        client = server.client
        client.post("/documents", json={"documents": some_documents(60)})
        assert client.get("/refit").json() == {"running": False, "failed": False, "changed": None}
        begun = client.post("/refit")
        assert begun.status_code == 202
        assert begun.json()["running"]
        assert client.post("/refit").status_code == 409
        client.post("/documents", json={"documents": some_documents(3, "late")})
        wait_until(lambda: not client.get("/refit").json()["running"])
        ended = client.get("/refit").json()
        assert not ended["failed"]
        assert ended["changed"]["n_documents"] == 63
        assert ended["changed"]["n_clusters"] == client.get("/clusters").json()["n_clusters"]
        assert stream.check() == []


def test_a_fit_under_way_does_not_keep_the_server_from_stopping(tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state") as stream:
        with running(stream) as server:
            server.client.post("/documents", json={"documents": some_documents(30)})
            assert server.client.post("/refit").status_code == 202
        assert stream.check() == []
