"""The application, routes, errors and gate around one stream, and a server of its own for it.

At SIGTERM or SIGINT the server finishes what it has taken on.
"""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from textmix.stream.clusterer import StreamClusterer
from textmix.stream.durable import DurableStream
from textmix.stream.server.connections import Connection, close_overdue
from textmix.stream.server.description import COMMON, describe
from textmix.stream.server.errors import handle_errors
from textmix.stream.server.gate import Gate
from textmix.stream.server.metrics import Metrics
from textmix.stream.server.routes import router
from textmix.stream.server.service import Service
from textmix.stream.server.settings import Settings
from textmix.version import __version__

SECONDS_TO_FINISH = 60  # for requests under way when the server is to stop


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
    app.include_router(router, responses=COMMON)
    app.add_middleware(Gate, settings=settings, metrics=metrics)
    app.state.routes = router.routes
    handle_errors(app)
    description = describe(app, settings)
    app.openapi = lambda: description  # type: ignore[method-assign]
    return app


def serve(
    folder: Path, settings: Settings, port: int, started: Callable[[str, int, int], None], *, confirmed: bool = False
) -> None:
    """Serve the state in a folder until a signal comes; `started` is told the address, and how much there is.

    confirmed: what is due is forgotten also if it is more than half of the documents at once.
    """
    with _listening_socket(settings.host, port) as listener, DurableStream(folder, confirmed=confirmed) as stream:
        _warm_up()
        app = create_app(stream, settings)
        address = _address(settings.host, listener)
        server = Server(app, settings, lambda: started(address, stream.n_documents, stream.n_clusters))
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:  # uvicorn raises the signal again when all is done
            if not server.should_exit:
                raise
        finally:
            gc.unfreeze()  # so that all is collected at exit, as in any program


class Server(uvicorn.Server):
    """Says when it has started, and ends the streams of events before it waits for connections to close."""

    def __init__(self, app: FastAPI, settings: Settings, started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",  # would take connections out of reach of our limits
                access_log=False,
                log_level="warning",
                server_header=False,
                proxy_headers=bool(settings.proxies),
                forwarded_allow_ips=list(settings.proxies),
                timeout_graceful_shutdown=SECONDS_TO_FINISH,
            )
        )
        self._app = app
        self._tell_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self._sweeping = asyncio.create_task(close_overdue(self.server_state.connections))
        self._tell_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and answer what is under way."""
        self._app.state.service.hub.close()
        await super().shutdown(sockets)


def _warm_up() -> None:
    """Load what the first request would wait for, and keep collections of garbage from looking through it all again.

    A collection that does takes a tenth of a second, in which nobody is answered.
    """
    StreamClusterer().partial_fit(["a text to begin with", "another text"] * 3).assign(["a third text"])
    gc.collect()
    gc.freeze()


def _listening_socket(host: str, port: int) -> socket.socket:
    """A bound socket; OSError says which address cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise OSError(f"cannot listen at {host}, port {port}: {error.strerror or error}") from None
    return listener


def _address(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}/"
