"""The program in this process."""

from __future__ import annotations

import pytest

from textmix.cli import main


@pytest.fixture
def program(capsys, monkeypatch):
    """Run the program with arguments: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["textmix", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main.run()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call
