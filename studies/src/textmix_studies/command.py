"""What `textmix reproduce` calls: a paper's tables and figures, computed again."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from textmix_studies import collections
from textmix_studies.reproduce import reproduce

FAILED = 1


def reproduce_study(
    study: str, *, quick: bool, data: Path | None, out: Path | None, jobs: int | None, force: bool, quiet: bool
) -> None:
    """Run a study and say where its page is; the exit code is 1 if cells failed."""

    def tell(message: str) -> None:
        print(f"textmix: {message}", file=sys.stderr)

    outcome = reproduce(
        study,
        data=collections.default_folder() if data is None else data,
        out=Path("studies-quick" if quick else "studies") if out is None else out,
        quick=quick,
        jobs=jobs,
        force=force,
        progress=False if quiet else None,
        tell=tell,
    )
    if not quiet:
        parts = [f"{outcome.n_cells:,} cells"]
        parts += [
            f"{n:,} {what}" for n, what in ((outcome.n_missing, "not at hand"), (outcome.n_failed, "failed")) if n
        ]
        typer.echo(f"Wrote {outcome.page} ({', '.join(parts)}), numbers and figures in {outcome.page.with_suffix('')}.")
    if outcome.n_failed:
        raise typer.Exit(FAILED)
