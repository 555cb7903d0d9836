"""The process of a new fit: it is started where there is something to fit, and ends with the stream."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import scipy.sparse

from textmix.stream import refit as module
from textmix.stream.durable import Document, DurableStream
from textmix.stream.refit import RefitSummary, _FitProcess


@pytest.fixture
def stream(tmp_path):
    with DurableStream(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def endless(monkeypatch):
    """Fits that last until their standard input ends."""
    monkeypatch.setattr(module, "_command", lambda *_: [sys.executable, "-c", "input()"])


def test_nothing_to_fit_changes_nothing_and_starts_no_process(stream, monkeypatch):
    monkeypatch.setattr(module, "_command", None)
    refit = stream.refit()
    assert refit.wait(60) == RefitSummary(0, 0, 0, 0, 0)
    assert not refit.has_begun
    stream.add([Document("a", "…"), Document("b", "…")])
    assert stream.refit().wait(60) == RefitSummary(2, 0, 0, 0, 0)
    assert stream.check() == []


def test_closing_the_stream_gives_up_a_fit_that_is_under_way(stream, endless):
    stream.add([Document("a", "parcel late"), Document("b", "login password")])
    refit = stream.refit()
    assert not refit.is_done
    stream.close()
    assert refit.is_done
    assert refit._process._process.poll() is not None
    with pytest.raises(RuntimeError, match="the clusters stay as they are"):
        refit.wait()


def test_the_process_ends_when_the_stream_was_killed():
    process = _FitProcess(scipy.sparse.csr_array([[1, 2], [3, 4]]), 0)
    process._process.stdin.close()  # as the system does for one that was killed
    with pytest.raises(RuntimeError, match="exit code 1"):
        process.labels()
    assert not Path(process._folder.name).exists()
