"""Who may use the server: the token, the names of this machine, pages of other sites, and what every answer carries."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from server_running import TOKEN, running, some_documents

from textmix.stream.durable import DurableStream
from textmix.stream.server.settings import Settings

REQUESTS = [
    ("GET", "/clusters"), ("POST", "/documents"), ("DELETE", "/documents/1"), ("GET", "/metrics"), ("GET", "/nothing"),
    ("GET", "/events/stream"), ("GET", f"/clusters?token={TOKEN}"),
]  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server without a token."""
    with DurableStream(tmp_path_factory.mktemp("state")) as stream, running(stream) as server:
        yield server.client


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client, without the token, of a server that has one."""
    with DurableStream(tmp_path_factory.mktemp("state")) as stream, running(stream, Settings(token=TOKEN)) as server:
        yield server.client


@pytest.mark.parametrize(
    "header", [None, "Bearer wrong", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ü", TOKEN]
)
def test_without_the_token_there_is_no_answer(guarded: httpx.Client, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header.encode()}
    for method, path in REQUESTS:
        response = guarded.request(method, path, headers=headers)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        assert TOKEN not in response.text


def test_with_the_token_all_is_as_ever(guarded: httpx.Client) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/clusters", headers=headers).status_code == 200
    assert guarded.post("/documents", json={"documents": some_documents(3)}, headers=headers).status_code == 200


def test_health_page_and_description_need_no_token_and_hold_no_texts(guarded: httpx.Client) -> None:
    assert guarded.get("/healthz").json() == {"status": "ok"}
    assert guarded.get("/").status_code == 200
    described = guarded.get("/openapi.json").json()
    assert described["paths"]["/documents"]["post"]["security"] == [{"token": []}]
    assert "401" in described["paths"]["/documents"]["post"]["responses"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "[", "", "10.0.0.1"])
def test_another_name_for_this_machine_is_refused(client: httpx.Client, host: str) -> None:
    assert client.get("/clusters", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8321", "127.0.0.1:99", "[::1]:8321", "127.9.9.9"])
def test_this_machine_may_be_called_by_its_names(client: httpx.Client, host: str) -> None:
    assert client.get("/clusters", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", ""])
def test_pages_of_other_sites_are_refused(client: httpx.Client, origin: str) -> None:
    assert client.post("/documents", json={"documents": []}, headers={"origin": origin}).status_code == 403


def test_our_own_page_may(client: httpx.Client) -> None:
    assert client.get("/clusters", headers={"origin": str(client.base_url).rstrip("/")}).status_code == 200


def test_every_answer_has_the_security_headers(client: httpx.Client) -> None:
    for response in [
        client.get("/clusters"),
        client.get("/nothing"),
        client.get("/clusters", headers={"host": "evil"}),
    ]:
        assert response.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"
        assert "server" not in response.headers or response.headers["server"] == "uvicorn"
    page = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in page
    assert "unsafe" not in page
    assert "connect-src 'self'" in page
