"""The routes that tell what happens: events, health, numbers for Prometheus, the live page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Query, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse

from textmix.stream.server import description as described
from textmix.stream.server.errors import RETRY_AFTER
from textmix.stream.server.gate import HEALTH
from textmix.stream.server.hub import EventStream
from textmix.stream.server.messages import LARGEST_NUMBER, EventPage, Health, StreamEvent
from textmix.stream.server.metrics import CONTENT_TYPE
from textmix.stream.server.page import live_page
from textmix.stream.server.service import Served

router = APIRouter()

EventNumber = Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="The number of the last event that is known.")]
EXAMPLE = 'id: 12\nevent: born\ndata: {"number": 12, "kind": "born", "cluster": 4, …}\n\n'


@router.get("/events", responses=described.MALFORMED, tags=["events"])
def list_events(
    service: Served, after: EventNumber = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 1000
) -> EventPage:
    """Events after a number, oldest first. The last 10,000 are kept."""
    events = service.stream.events(after=after, limit=limit)
    return EventPage(
        events=[StreamEvent(**event._asdict()) for event in events], last=events[-1].number if events else after
    )


@router.get(
    "/events/stream",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}}},
        **described.MALFORMED,
        **described.BUSY,
    },
    tags=["events"],
)
async def stream_events(
    service: Served,
    after: Annotated[EventNumber | None, Query()] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=LARGEST_NUMBER)] = None,
) -> StreamingResponse:
    """Server-sent events: born, grows, merged, died (with a number as id), outlier, outliers and state (without).

    outlier: a text that came and fits nowhere. outliers: the ids of the last 20 of them that are in the stream still.
    Begins after Last-Event-ID, else after `after`, else with what happens next.
    """
    return EventStream(service.hub, after if last_event_id is None else last_event_id)


@router.get(HEALTH, responses=described.STOPPING, tags=["server"])
async def health(service: Served) -> Health:
    """Whether the server works."""
    if not service.writer.is_alive:
        raise HTTPException(503, "the writer has ended", RETRY_AFTER)
    return Health(status="ok")


@router.get("/metrics", response_class=PlainTextResponse, tags=["server"])
async def metrics(service: Served) -> Response:
    """Numbers for Prometheus."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE)


@router.get("/", response_class=HTMLResponse, tags=["server"])
async def show_live_page(service: Served) -> Response:
    """A page that shows what happens, as it happens."""
    page = live_page(token_needed=service.token_needed)
    return HTMLResponse(page.html, headers={"Content-Security-Policy": page.policy})
