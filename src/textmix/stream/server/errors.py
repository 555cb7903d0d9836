"""Errors: each is a code and one sentence, which repeats of a request at most the name of a field."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from textmix.stream.server.writer import QueueFullError, StoppedError

log = logging.getLogger("textmix.serve")
RETRY_AFTER = {"Retry-After": "1"}
MALFORMED = 422
MAX_FIELD_NAME = 40  # characters of one that is repeated
# pydantic's names of alternatives
_KINDS = frozenset({"str", "int", "float", "constrained-str", "constrained-int", "constrained-float"})


def problem(code: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a request that cannot be served."""
    body = json.dumps({"detail": detail})
    return Response(body, code, dict(headers or {}), "application/json")


def malformed(detail: str) -> HTTPException:
    """The error of a request that makes no sense, or too much at once."""
    return HTTPException(MALFORMED, detail)


def handle_errors(app: FastAPI) -> None:
    """Make every error an answer of the same form."""
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(StarletteHTTPException, _refused)
    app.add_exception_handler(QueueFullError, _queue_full)
    app.add_exception_handler(StoppedError, _stopped)


async def _not_valid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if isinstance(error.body, bytes) and error.body:  # it was not read, for it does not say that it is JSON
        return problem(MALFORMED, "the body must be JSON, and the header Content-Type: application/json say so")
    return problem(MALFORMED, describe(error.errors()))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)
    if error.status_code == 400:  # FastAPI's for a body that is not even text
        return problem(MALFORMED, "the body is not JSON")
    headers = {"Allow": _methods(request)} if error.status_code == 405 else error.headers
    return problem(error.status_code, str(error.detail), headers)


def _methods(request: Request) -> str:
    """The methods of the path, as described; of several that match the first, which has no parameter."""
    routes = [route for route in request.app.state.routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted(method for route in routes if route.path == routes[0].path for method in route.methods))


async def _queue_full(request: Request, error: Exception) -> Response:
    return problem(429, "too many requests are waiting; try again in a moment", RETRY_AFTER)


async def _stopped(request: Request, error: Exception) -> Response:
    return problem(503, "the server is stopping", RETRY_AFTER)


def describe(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first error with its place, and how many more there are."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"the body is not JSON: see character {first['loc'][-1]}"
    n_others = len({_place(error) for error in errors}) - 1
    others = f" ({n_others:,} more such error{'s' if n_others > 1 else ''})" if n_others else ""
    message = _unknown_field(first["loc"][-1]) if first["type"] == "extra_forbidden" else first["msg"]
    return f"{_place(first)}: {message}{others}"


def _unknown_field(name: object) -> str:
    """The message about an unknown field; quotes its name only if that is an identifier, since it may be anything."""
    is_name = isinstance(name, str) and len(name) <= MAX_FIELD_NAME and name.isidentifier()
    return "has a field that is not known" + (f": {name}" if is_name else "")


def _place(error: Mapping[str, Any]) -> str:
    """ "documents[3].text"; of a field that should not be there the place of what has it."""
    loc = error["loc"][1:-1] if error["type"] == "extra_forbidden" else error["loc"][1:]
    names = [name for name in loc if name not in _KINDS]
    place = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names)
    return place.lstrip(".") or str(error["loc"][0])
