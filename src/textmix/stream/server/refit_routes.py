"""The routes that cluster all documents anew in the background."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException

from textmix.stream.server import description as described
from textmix.stream.server.messages import RefitState
from textmix.stream.server.service import Served

router = APIRouter()


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
