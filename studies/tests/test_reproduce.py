"""`textmix reproduce`."""

from __future__ import annotations

import gzip
import json

import pytest

from textmix_studies import gsdmm_study


@pytest.fixture
def titles(tmp_path):
    """A small collection like that of the study: 20 topics, a word of its own in each title."""
    pytest.importorskip("wn", reason="WordNet is not installed")
    folder = tmp_path / "data"
    folder.mkdir()
    with gzip.open(folder / "StackOverflow.jsonl.gz", "wt") as file:
        for number in range(200):
            topic = number % 20
            words = f"{gsdmm_study.TOPICS[topic]} file{'s' * (number % 2)} page word{'abcdefghij'[number % 10]}"
            file.write(json.dumps({"text": words, "label": str(topic + 1)}) + "\n")
    return folder


def test_a_study_is_computed_written_and_not_computed_again(program, titles, tmp_path):
    out = tmp_path / "out"
    command = ["reproduce", "gsdmm-study", "--quick", "--data", titles, "--out", out, "--jobs", 1]
    code, shown, error = program(*command)
    assert (code, error) == (0, "")
    assert "21 cells" in shown
    page = (out / "gsdmm-study.md").read_text()
    assert "A quick run" in page
    assert "## Table 1" in page
    assert (out / "gsdmm-study" / "figure-1.png").exists()
    stored = (out / "gsdmm-study" / "cells.jsonl").read_bytes()
    assert program(*command, "--quiet") == (0, "", "")
    assert (out / "gsdmm-study" / "cells.jsonl").read_bytes() == stored


def test_collections_that_are_not_at_hand_are_named_on_the_page(program, tmp_path):
    out = tmp_path / "out"
    (tmp_path / "data").mkdir()
    code, shown, _ = program("reproduce", "gsdmm-study", "--data", tmp_path / "data", "--out", out)
    assert code == 0
    assert "101 not at hand" in shown
    assert "StackOverflow is not at hand (no StackOverflow.jsonl.gz): 101 cells" in (out / "gsdmm-study.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense", "--data", "."], "there is no study 'nonsense'; there are gsdpmm, "),
        (["gsdpmm"], "where are the labelled collections?"),
        (["gsdpmm", "--data", "nowhere"], '"nowhere" is no folder'),
    ],
)
def test_mistakes_are_said_in_a_sentence(program, monkeypatch, arguments, message):
    monkeypatch.delenv("TEXTMIX_DATA", raising=False)
    code, shown, error = program("reproduce", *arguments)
    assert (code, shown) == (2, "")
    assert error.startswith(f"textmix: {message}")
