"""Step 2 of the ladder: compiled kernels do what the same code does when Python runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels import twin_scenario


@pytest.fixture(scope="module")
def interpreted() -> dict:
    script = Path(twin_scenario.__file__)
    finished = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(finished.stdout)


@pytest.fixture(scope="module")
def compiled() -> dict:
    return json.loads(json.dumps(twin_scenario.outcomes()))


def test_labels_and_plain_arithmetic_are_equal_bit_for_bit(compiled, interpreted):
    assert compiled.keys() == interpreted.keys()
    for case in compiled:
        assert compiled[case]["labels"] == interpreted[case]["labels"], case
        assert compiled[case]["exact"] == interpreted[case]["exact"], case


def test_numbers_from_logarithms_are_equal_to_1e_12(compiled, interpreted):
    for case in compiled:
        assert compiled[case]["numbers"] == pytest.approx(interpreted[case]["numbers"], rel=1e-12, abs=1e-12)
