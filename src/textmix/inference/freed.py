"""Memory that was freed, back to the system."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress


def return_freed_memory() -> None:
    """Give back what large arrays have left behind: the C library would keep it for later, and it adds up."""
    gc.collect()
    with suppress(OSError, AttributeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)
