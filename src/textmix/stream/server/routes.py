"""The routes: each checks its limits, asks, and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, HTTPException, Path, Query, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.convertors import PathConvertor, register_url_convertor

from textmix.stream.records import Document, StreamCluster, check_document
from textmix.stream.server import description as described
from textmix.stream.server.errors import RETRY_AFTER, malformed
from textmix.stream.server.gate import HEALTH
from textmix.stream.server.hub import EventStream
from textmix.stream.server.messages import (
    LARGEST_NUMBER,
    AssignedTexts,
    Assignment,
    ClusterDetails,
    ClusterPage,
    ClusterSummary,
    EventPage,
    Health,
    Ids,
    NewDocument,
    NewDocuments,
    Placed,
    PlacedDocuments,
    RefitState,
    Removed,
    StoredText,
    StreamEvent,
    Texts,
    Word,
)
from textmix.stream.server.metrics import CONTENT_TYPE
from textmix.stream.server.page import live_page
from textmix.stream.server.service import ClusterQuery, Served
from textmix.stream.server.settings import Limits
from textmix.stream.server.writer import Kind

router = APIRouter()


class IdConvertor(PathConvertor):
    """An id in a path: any characters, also slashes and line breaks."""

    regex = "(?s:.*)"


register_url_convertor("document_id", IdConvertor())

DocumentId = Annotated[str, Path(description="The document's id; a slash in it may stand as it is.")]
NumberOfWords = Annotated[int, Query(ge=0, le=10, description="Words of each cluster.")]
EventNumber = Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="The number of the last event that is known.")]
EXAMPLE = 'id: 12\nevent: born\ndata: {"number": 12, "kind": "born", "cluster": 4, …}\n\n'


@router.post("/documents", responses={**described.BODY, **described.WRITING}, tags=["documents"])
async def add_documents(batch: NewDocuments, service: Served) -> PlacedDocuments:
    """Add texts: each goes into a cluster there is, or a new one. All are on disk when the answer comes."""
    limits = service.limits
    _check_number(batch.documents, "documents", limits)
    _check_lengths([document.text for document in batch.documents], "documents[{}].text", limits)
    documents = [_checked(index, document) for index, document in enumerate(batch.documents)]
    answers = await service.ask(Kind.ADD, documents)
    return PlacedDocuments(documents=[Placed.model_construct(**answer._asdict()) for answer in answers])


@router.post("/documents/remove", responses={**described.BODY, **described.WRITING}, tags=["documents"])
async def remove_documents(batch: Ids, service: Served) -> Removed:
    """Take documents out, exactly; ids that are not there are passed over."""
    _check_number(batch.ids, "ids", service.limits)
    return Removed(removed=await service.ask(Kind.REMOVE, [str(id) for id in batch.ids]))


@router.delete(
    "/documents/{id:document_id}", responses={**described.NOT_THERE, **described.WRITING}, tags=["documents"]
)
async def remove_document(id: DocumentId, service: Served) -> Removed:
    """Take one document out, exactly."""
    removed = await service.ask(Kind.REMOVE, [id])
    if not removed:
        raise HTTPException(404, "there is no document with this id")
    return Removed(removed=removed)


@router.get("/documents/{id:document_id}", responses={**described.NOT_THERE, **described.MALFORMED}, tags=["documents"])
def show_document(id: DocumentId, service: Served) -> StoredText:
    """A document as it is kept, and where it is now."""
    document = service.stream.document(id)
    if document is None:
        raise HTTPException(404, "there is no document with this id")
    return StoredText(**document._asdict())


@router.get("/clusters", responses=described.MALFORMED, tags=["clusters"])
async def list_clusters(
    service: Served,
    limit: Annotated[int, Query(ge=1, le=1000, description="Clusters of a page.")] = 50,
    offset: Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="Clusters before this page.")] = 0,
    words: NumberOfWords = 10,
    order: Annotated[Literal["size", "newest"], Query(description="Which come first.")] = "size",
) -> ClusterPage:
    """Clusters, the largest or the newest first, with the words that tell them from the others."""
    listing = await service.clusters(ClusterQuery(limit, offset, order == "newest"))
    last = offset + limit
    return ClusterPage(
        n_documents=listing.n_documents,
        n_clusters=listing.n_clusters,
        clusters=[ClusterSummary(**_summary(cluster, words)) for cluster in listing.clusters],
        next=last if last < listing.n_clusters else None,
    )


@router.get("/clusters/{id}", responses={**described.NOT_THERE, **described.MALFORMED}, tags=["clusters"])
def show_cluster(
    id: Annotated[int, Path(ge=0, le=LARGEST_NUMBER)],
    service: Served,
    examples: Annotated[int, Query(ge=0, le=100, description="Texts that came last.")] = 10,
    words: NumberOfWords = 10,
) -> ClusterDetails:
    """A cluster with its words, and the texts that came to it last."""
    cluster = service.stream.cluster(id)
    if cluster is None:
        raise HTTPException(404, "there is no cluster with this id")
    texts = service.stream.documents_of(id, limit=examples) if examples else []
    return ClusterDetails(**_summary(cluster, words), examples=[StoredText(**document._asdict()) for document in texts])


@router.post("/assign", responses={**described.BODY, **described.WRITING}, tags=["clusters"])
async def assign(batch: Texts, service: Served) -> AssignedTexts:
    """Where texts would go; nothing is learned and nothing is kept."""
    _check_number(batch.texts, "texts", service.limits)
    _check_lengths(batch.texts, "texts[{}]", service.limits)
    answers = await service.ask(Kind.ASSIGN, batch.texts)
    return AssignedTexts(texts=[Assignment(**_without(answer._asdict(), "id", "new")) for answer in answers])


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


@router.post("/refit", status_code=202, responses={**described.UNDER_WAY, **described.STOPPING}, tags=["clusters"])
def begin_refit(service: Served) -> RefitState:
    """Begin to cluster all documents anew, while others come and go; clusters that agree keep their ids."""
    if not service.refits.begin():
        raise HTTPException(409, "a fit is under way already")
    return RefitState(**service.refits.state())


@router.get("/refit", tags=["clusters"])
def show_refit(service: Served) -> RefitState:
    """Whether a fit is under way, and what the last one has changed."""
    return RefitState(**service.refits.state())


def _check_number(items: Sequence[Any], what: str, limits: Limits) -> None:
    if len(items) > limits.max_batch:
        raise malformed(f"{what}: at most {limits.max_batch:,} in a batch, not {len(items):,}")


def _check_lengths(texts: Sequence[str], place: str, limits: Limits) -> None:
    for index, text in enumerate(texts):
        if len(text) > limits.max_length:
            at_most = f"at most {limits.max_length:,} characters, not {len(text):,}"
            raise malformed(f"{place.format(index)}: {at_most}")


def _checked(index: int, document: NewDocument) -> Document:
    """The document with an id and its time read."""
    id = None if document.id is None else str(document.id)
    try:
        return check_document(Document(id, document.text, document.time))
    except ValueError as error:
        raise malformed(f"documents[{index}]: {error}") from None


def _summary(cluster: StreamCluster, n_words: int) -> dict[str, Any]:
    words = [Word(word=word, score=score) for word, score in cluster.words[:n_words]]
    return {**cluster._asdict(), "words": words}


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}
