"""Results are those of golden.json bit for bit, where its processor and its packages are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from golden import COLLECTIONS, DATA, GOLDEN, Hashes, cases, made_with

EXPECTED = json.loads(GOLDEN.read_text(encoding="utf-8"))
FOUND = made_with()
OTHER = [f"{name} {FOUND[name]}" for name, used in EXPECTED["made_with"].items() if FOUND[name] != used]
CASES = dict(cases(DATA))


def test_every_case_has_a_hash() -> None:
    assert CASES.keys() == EXPECTED["hashes"].keys()
    assert {name.split(":")[0] for name in CASES} == set(COLLECTIONS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(bool(OTHER), reason=f"golden.json was made with others than {', '.join(OTHER)}")
@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same_bit_for_bit(name: str, real_data: Path) -> None:
    compute: Callable[[], Hashes] = CASES[name]
    assert compute() == EXPECTED["hashes"][name]
