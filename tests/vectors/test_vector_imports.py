"""What importing the package costs."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_imports_nothing_large():
    script = (
        "import sys, textmix.vectors as v; v.check_vectors, v.make_encoder; "
        "print([name for name in ('scipy', 'sklearn', 'numba', 'torch', 'duckdb') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
