# Two commands do everything on a machine with Python 3.11 or later: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.PHONY: demo test pytest test-lowest test-newest browser lint docs docs-screenshots bench faults kills fuzz golden lock clean

demo: $(VENV)/installed
	$(BIN)/textmix cluster examples/tickets.csv --text text --label topic --time created --out demo --force

# Lint beside the tests: they wait now and then, for processes and for a browser.
test: $(VENV)/installed-dev
	$(MAKE) --no-print-directory -j 2 lint pytest

# Files of tests side by side on two cores. First those of the golden file, which compile nearly all kernels: processes that tests
# start would compile them once more each. Then in the order of folders: files with few but slow tests would otherwise come last.
pytest: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 2 tests/golden
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --ignore tests/golden

# The tests with the oldest versions that pyproject.toml allows, or with the newest there are instead of those in
# constraints.txt: make test-lowest PYTHON=python3.11, make test-newest PYTHON=python3.13.
test-lowest test-newest: test-%:
	rm -rf build/$* && $(PYTHON) -m venv build/$*
	build/$*/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/$*/bin/uv pip compile --python build/$*/bin/python --quiet --no-header --resolution $(RESOLUTION_$*) --extra dev --no-emit-package textmix pyproject.toml studies/pyproject.toml -o build/$*/constraints.txt
	build/$*/bin/python -m pip install --quiet --disable-pip-version-check -c build/$*/constraints.txt -e '.[dev]' -e studies
	NUMBA_CACHE_DIR=$(CURDIR)/build/$*/kernels build/$*/bin/python -m pytest -n 2 --dist loadfile
RESOLUTION_lowest := lowest-direct
RESOLUTION_newest := highest

# A browser for the tests of the page; without one they are skipped. Debian's, since that needs no download of its own.
browser:
	@command -v chromium > /dev/null || { \
	  command -v apt-get > /dev/null || { echo "install Chromium by hand: it must be on the PATH as chromium" >&2; exit 1; }; \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$as_root apt-get update -qq && \
	  $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-noto-core fonts-noto-color-emoji > /dev/null; }

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in build/docs; a warning is an error.
docs: $(VENV)/installed-docs
	$(BIN)/sphinx-build -W --keep-going -n -q -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

docs-screenshots: $(VENV)/installed-docs browser
	$(BIN)/python docs/screenshots.py

# All planted faults; `make test` tries two of them.
faults: $(VENV)/installed-dev
	$(BIN)/python tests/kernels/faults.py

# A stream is killed fifty times; `make test` kills it some times.
kills: $(VENV)/installed-dev
	$(BIN)/python tests/stream/test_durable_killed.py 50

# Random calls of estimators, streams, readers and saved runs, with bounds checks in kernels: make fuzz MINUTES=30.
MINUTES ?= 10
fuzz: $(VENV)/installed-dev
	$(BIN)/python tests/fuzz/fuzz.py --minutes $(MINUTES)

# Hashes of results that must stay the same, written anew: only where results are meant to change.
golden: $(VENV)/installed-dev
	NUMBA_CACHE_DIR=$(CURDIR)/.cache $(BIN)/python tests/golden/golden.py

bench: $(VENV)/installed-bench
	cd benchmarks && for script in speed scaling quality outliers spherical tokens cold_start xdmm million larger_than_memory stream stream_http; do ../$(BIN)/python $$script.py || exit 1; done

# Versions for development, written anew from what pyproject.toml allows.
lock:
	rm -rf .lock && $(PYTHON) -m venv .lock
	.lock/bin/python -m pip install --quiet --upgrade pip
	.lock/bin/python -m pip install --quiet '.[dev,docs,bench]' ./studies
	.lock/bin/python -m pip freeze --exclude textmix --exclude textmix-studies > constraints.txt
	rm -rf .lock

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "textmix needs Python 3.11 or later: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

# Python compiles what is imported; all that is installed would take half a minute.
$(VENV)/installed-dev: $(VENV)/bin/python pyproject.toml constraints.txt studies/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]' -e studies
	touch $(VENV)/installed $@

$(VENV)/installed-docs: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

$(VENV)/installed-bench: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) .cache build dist
