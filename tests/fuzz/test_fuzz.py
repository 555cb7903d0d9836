"""The fuzzer itself: some of its cases, and that it notices faults of every kind. `make fuzz` runs it for longer."""

from __future__ import annotations

import sys

import pytest

import fuzz

FAULTS = {
    "dies": ("os.abort()", "signal 6"),
    "fails": ("assert rng.random() > 1, 'a wrong result'", "a wrong result"),
    "hangs": ("time.sleep(600)", "did not end within 2 s"),
}


@pytest.mark.parametrize("subject", fuzz.SUBJECTS)
def test_cases_end_without_a_fault(subject):
    for number in range(10):
        assert fuzz.run_case(subject, number)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_said(name, tmp_path, monkeypatch, capsys):
    fault, said = FAULTS[name]
    script = f"import os, time\n\ndef run_case(rng, folder):\n    {fault}\n"
    (tmp_path / f"fuzz_{name}.py").write_text(script)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    if name == "hangs":
        monkeypatch.setattr(fuzz, "SECONDS_PER_CASE", 2.0)
    (found,) = fuzz.fuzz((name,), minutes=5, first=7, n_faults=1)
    assert (found.subject, found.number) == (name, 7)
    assert said in found.what
    assert f"FAULT {name} 7" in capsys.readouterr().out
