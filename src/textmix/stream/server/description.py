"""The OpenAPI description: which errors there are, the limits of this server, and its token."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from textmix.stream.server.gate import HEALTH, OPEN_TO_ALL
from textmix.stream.server.messages import Problem
from textmix.stream.server.settings import Settings
from textmix.version import __version__

DESCRIPTION = "Texts come and go; clusters keep their ids. What has been answered is on disk."
Responses = dict[int | str, dict[str, Any]]
RETRY_AFTER = ("Retry-After", "Seconds to wait.")


def _error(meaning: str, example: str, header: tuple[str, str] | None = None) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {"application/json": {"schema": schema, "example": {"detail": example}}}
    headers = {} if header is None else {header[0]: {"description": header[1], "schema": {"type": "string"}}}
    return {"description": meaning, "content": content, "headers": headers}


COMMON: Responses = {
    400: _error("This is not HTTP.", "this is not a valid HTTP request"),
    403: _error("A page of another site asks.", "pages of other sites may not use this server"),
    421: _error("Another host was asked for.", "this server is reached as localhost or 127.0.0.1 only"),
    429: _error("Too many at the same time.", "too many requests at the same time from this address", RETRY_AFTER),
    500: _error("The server failed.", "the server failed; its log says why"),
    503: _error("Too many at the same time.", "too many requests at the same time", RETRY_AFTER),
}
MALFORMED: Responses = {422: _error("Malformed, or beyond the limits.", "documents[3].text: Field required")}
NOT_THERE: Responses = {404: _error("There is none with this id.", "there is no document with this id")}
BUSY: Responses = {429: _error("Too many wait.", "too many requests are waiting; try again in a moment", RETRY_AFTER)}
STOPPING: Responses = {503: _error("Nothing was stored; try again.", "the server is stopping", RETRY_AFTER)}
UNDER_WAY: Responses = {409: _error("There is one already.", "a fit is under way already")}
BODY: Responses = {
    408: _error("The body did not arrive in time.", "the body did not arrive in time"),
    413: _error("The body is too large.", "the body has more than 8,000,000 bytes; send smaller batches"),
}
WRITING: Responses = {**MALFORMED, **BUSY, **STOPPING}
UNAUTHORISED = _error(
    "The token is missing or wrong.", "a token is needed: Authorization: Bearer TOKEN", ("WWW-Authenticate", "Bearer")
)


def describe(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """The description of this server, with its limits and, where it has a token, who must bring it."""
    described = get_openapi(title="textmix", version=__version__, description=DESCRIPTION, routes=app.routes)
    described["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    _state_limits(described["components"]["schemas"], settings)
    del described["paths"][HEALTH]["get"]["responses"]["429"]  # answered however many come
    _leave_out_null(described["paths"])
    if settings.token is not None:
        _state_token(described)
    return described


def _leave_out_null(paths: dict[str, Any]) -> None:
    """Say of parameters that they can be left out, not that they can be null: an address has no null."""
    for operation in (operation for path in paths.values() for operation in path.values()):
        for schema in (parameter["schema"] for parameter in operation.get("parameters", ())):
            if "anyOf" in schema:
                (kind,) = (kind for kind in schema.pop("anyOf") if kind != {"type": "null"})
                schema.update(kind)


def _state_limits(schemas: dict[str, Any], settings: Settings) -> None:
    limits = settings.limits
    schemas["NewDocument"]["properties"]["text"]["maxLength"] = limits.max_length
    schemas["NewDocuments"]["properties"]["documents"]["maxItems"] = limits.max_batch
    schemas["Ids"]["properties"]["ids"]["maxItems"] = limits.max_batch
    texts = schemas["Texts"]["properties"]["texts"]
    texts["maxItems"] = limits.max_batch
    texts["items"]["maxLength"] = limits.max_length


def _state_token(described: dict[str, Any]) -> None:
    described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in described["paths"].items():
        for operation in operations.values() if path not in OPEN_TO_ALL else ():
            operation["security"] = [{"token": []}]
            operation["responses"]["401"] = UNAUTHORISED
