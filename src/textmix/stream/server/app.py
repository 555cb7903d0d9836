"""The application: routes, errors and gate around one stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from textmix import __version__
from textmix.stream.durable import DurableStream
from textmix.stream.server import event_routes, refit_routes, routes
from textmix.stream.server.description import COMMON, describe
from textmix.stream.server.errors import handle_errors
from textmix.stream.server.gate import Gate
from textmix.stream.server.metrics import Metrics
from textmix.stream.server.service import Service
from textmix.stream.server.settings import Settings


def create_app(stream: DurableStream, settings: Settings | None = None) -> FastAPI:
    """An ASGI application that serves the stream; the stream stays open when the application ends."""
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = app.state.service = Service(stream, settings, metrics)
        service.writer.start()
        yield
        service.hub.close()
        await run_in_threadpool(service.stop)

    app = FastAPI(
        title="textmix",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    routers = (routes.router, event_routes.router, refit_routes.router)
    for router in routers:
        app.include_router(router, responses=COMMON)
    app.add_middleware(Gate, settings=settings, metrics=metrics)
    app.state.routes = [route for router in routers for route in router.routes]
    handle_errors(app)
    description = describe(app, settings)
    app.openapi = lambda: description  # type: ignore[method-assign]
    return app
