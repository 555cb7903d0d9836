"""A server of its own: it listens, and at SIGTERM or SIGINT finishes what it has taken on."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from textmix.stream.clusterer import StreamClusterer
from textmix.stream.durable import DurableStream
from textmix.stream.server.app import create_app
from textmix.stream.server.connections import Connection, sweep
from textmix.stream.server.settings import Settings

SECONDS_TO_FINISH = 60  # for requests under way when the server is to stop


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
        self._sweeping = asyncio.create_task(sweep(self.server_state.connections))
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
