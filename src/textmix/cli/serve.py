"""`textmix serve`: a stream over HTTP."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from pathlib import Path

from textmix.cli.console import make_console, plural, say

try:
    from textmix.stream.server.app import serve
    from textmix.stream.server.settings import Limits, Settings, read_token
except ModuleNotFoundError as error:
    raise ImportError(f"textmix serve needs {error.name}: pip install 'textmix[serve]'") from error

TOKEN_VARIABLE = "TEXTMIX_TOKEN"


def serve_state(
    state: Path,
    host: str,
    port: int,
    token_file: Path | None,
    limits: Mapping[str, int],
    proxies: tuple[str, ...] = (),
    *,
    confirmed: bool = False,
) -> None:
    """Serve until a signal comes, and say where."""
    token = read_token(token_file, os.environ.get(TOKEN_VARIABLE))
    settings = Settings(Limits(**limits), host, token, proxies)
    console = make_console()

    def started(address: str, n_documents: int, n_clusters: int) -> None:
        held = f"{plural(n_documents, 'text')} in {plural(n_clusters, 'cluster')}"
        say(console, f"Serving {state} ({held}) at {address} — stop with Ctrl-C.")
        console.file.flush()

    serve(state, settings, port, started, confirmed=confirmed)
    say(console, "Stopped; everything that was answered is on disk.")
    gc.freeze()  # so that collections at exit, which take seconds, have nothing to go through
