"""Step 6 of the ladder: it fails on deliberately broken kernels. `make faults` tries all of them."""

from __future__ import annotations

import pytest

from kernels.faults import FAULTS, is_caught


@pytest.mark.parametrize("number", [7, 38])
def test_a_planted_fault_is_caught(number):
    assert is_caught(FAULTS[number])


def test_every_fault_changes_a_line_that_is_there():
    from kernels.faults import ROOT

    for fault in FAULTS:
        source = (ROOT / "src" / "textmix" / fault.file).read_text(encoding="utf-8")
        assert fault.right in source, fault.name
