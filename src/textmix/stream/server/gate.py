"""What stands before the application: who may enter, how much they may bring, and what every answer carries."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import unquote_to_bytes, urlsplit

from fastapi import HTTPException, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from textmix.stream.server.errors import MALFORMED, RETRY_AFTER, problem
from textmix.stream.server.metrics import Metrics
from textmix.stream.server.settings import Settings, is_loopback

log = logging.getLogger("textmix.serve")

HEALTH = "/healthz"  # answered however many requests are under way
OPEN_TO_ALL = frozenset({"/", HEALTH, "/openapi.json"})  # nothing of the texts is in these
BODY_SECONDS = 60.0  # for a body to arrive
MAX_REQUESTS = 200  # at the same time: each may hold a body in memory
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class Gate:
    """An ASGI middleware: refuses before anything of the body is read, counts answers, adds headers."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._max_body = settings.limits.max_body
        self._token = None if settings.token is None else _digest(settings.token)
        self._host = settings.host.lower() if is_loopback(settings.host) else None
        self._metrics = metrics
        self._max_per_address = settings.limits.max_per_address
        self._under_way: Counter[str] = Counter()  # requests by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(scope, send, self._metrics)
        address = (scope.get("client") or [""])[0]
        refusal = self._refusal(scope, Headers(scope=scope)) or self._too_many(scope["path"], address)
        if refusal is not None:
            await refusal(scope, receive, answer.send)
            return
        self._under_way[address] += 1
        try:
            await self._let_through(scope, receive, answer)
        finally:
            self._under_way -= Counter({address: 1})  # without those that have none left

    async def _let_through(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            await self._app(scope, _LimitedBody(receive, self._max_body).receive, answer.send)
        except Exception:
            log.exception("%s %r failed", scope["method"], scope["path"])
            if answer.started:
                raise
            await problem(500, "the server failed; its log says why")(scope, receive, answer.send)

    def _too_many(self, path: str, address: str) -> Response | None:
        """The answer to those who come when too many requests are under way."""
        if path == HEALTH:
            return None
        if self._under_way[address] >= self._max_per_address:
            return problem(429, "too many requests at the same time from this address", RETRY_AFTER)
        if self._under_way.total() >= MAX_REQUESTS:
            return problem(503, "too many requests at the same time", RETRY_AFTER)
        return None

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to those who may not enter."""
        path, host = scope["path"], headers.get("host", "")
        if not self._is_our_host(host):
            return problem(421, "this server is reached as localhost or 127.0.0.1 only")
        if not _is_same_origin(headers.get("origin"), host):
            return problem(403, "pages of other sites may not use this server")
        if self._token is not None and path not in OPEN_TO_ALL and not self._is_token(headers.get("authorization", "")):
            return problem(401, "a token is needed: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})
        if _is_unlike_its_route(scope):
            return problem(404, "Not Found")
        if "\ufffd" in path and unquote_to_bytes(scope["raw_path"]) != path.encode():
            return problem(MALFORMED, "the path is not UTF-8")
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._max_body:
            return _too_large(self._max_body)
        return None

    def _is_our_host(self, header: str) -> bool:
        """Whether a request names this machine; another name on loopback is a page that had its name pointed here."""
        if self._host is None:
            return True
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        return name == self._host or is_loopback(name)

    def _is_token(self, header: str) -> bool:
        scheme, _, token = header.partition(" ")
        given = _digest(token.strip())
        return self._token is not None and scheme.lower() == "bearer" and hmac.compare_digest(given, self._token)


class _Answer:
    """Adds the headers to an answer, and counts it."""

    def __init__(self, scope: Scope, send: Send, metrics: Metrics) -> None:
        self._scope, self._send, self._metrics = scope, send, metrics
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            route = getattr(self._scope.get("route"), "path_format", None)
            self._metrics.count_request(self._scope["method"], route, message["status"])
        await self._send(message)


class _LimitedBody:
    """Counts a body while it is read."""

    def __init__(self, receive: Receive, max_body: int) -> None:
        self._receive, self._max_body = receive, max_body
        self._n_bytes = 0
        self._is_complete = False
        self._deadline: float | None = None  # by the loop's clock, from the first time it is asked for

    async def receive(self) -> Message:
        if self._is_complete:
            return await self._receive()
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + BODY_SECONDS
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body did not arrive in time", {"Connection": "close"}) from None
        self._n_bytes += len(message.get("body", b""))
        self._is_complete = not message.get("more_body", False)
        if self._n_bytes > self._max_body:
            raise HTTPException(413, _too_large_detail(self._max_body), {"Connection": "close"})
        return message


def _too_large(max_body: int) -> Response:
    return problem(413, _too_large_detail(max_body), {"Connection": "close"})


def _too_large_detail(max_body: int) -> str:
    return f"the body has more than {max_body:,} bytes; send smaller batches"


def _is_unlike_its_route(scope: Scope) -> bool:
    """Whether a path ends with a newline that its route does not have: `$` in Starlette's patterns overlooks it."""
    is_id = scope["path"].startswith("/documents/") and scope["method"] in {"GET", "DELETE"}
    return scope["path"].endswith("\n") and not is_id


def _is_same_origin(origin: str | None, host: str) -> bool:
    """Whether a request comes from our own page, or from no page at all."""
    if origin is None:
        return True
    return origin.partition("://")[2].lower() == host.lower() != ""


def _digest(token: str) -> bytes:
    """Of equal length for all tokens, so that comparing tells nothing, not even the length."""
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
