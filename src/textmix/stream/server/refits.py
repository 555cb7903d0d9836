"""New fits of all documents, one at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from textmix.stream.durable import DurableStream
from textmix.stream.refit import Refit

log = logging.getLogger("textmix.serve")


class Refits:
    """The fit that is under way, or the last one; `ended` is called when one has ended."""

    def __init__(self, stream: DurableStream, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended
        self._lock = threading.Lock()
        self._last: Refit | None = None

    def begin(self) -> bool:
        """Begin a fit, unless one is under way."""
        with self._lock:
            if self._last is not None and not self._last.is_done:
                return False
            self._last = self._stream.refit(self._ended)
            return True

    def state(self) -> dict[str, Any]:
        """Whether one is under way; of one that has ended what it has changed, or why it failed."""
        refit = self._last
        state: dict[str, Any] = {"running": refit is not None and not refit.is_done, "failed": False, "changed": None}
        if refit is not None and refit.is_done:
            try:
                state["changed"] = refit.wait()._asdict()
            except Exception:
                state["failed"] = True
        return state

    def stop(self) -> None:
        """Give up the one that is under way."""
        with self._lock:
            if self._last is not None:
                self._last.stop()
