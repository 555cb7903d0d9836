"""`textmix cluster examples/tickets.csv` as a user meets it: the first time, compiling, and from then on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import print_table, seconds

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [str(Path(sys.executable).parent / "textmix"), "cluster", "examples/tickets.csv", "--quiet"]

        def run() -> None:
            subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)

        rows = [[which, f"{seconds(run):.1f} s"] for which in ("first, compilation included", "second", "third")]
    print_table("`textmix cluster examples/tickets.csv`", ["run", "time"], rows)


if __name__ == "__main__":
    main()
