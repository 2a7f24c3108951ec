# Needs Python 3.11 or newer, and make. Everything else goes into .venv, from hash-locked wheels.
PYTHON ?= python3
LOCK := requirements/dev.txt
STAMP := .venv/.installed

# A uv on PATH is used as it is; otherwise a private one is put in .uv.
ifeq ($(shell uv --version >/dev/null 2>&1 && echo yes),yes)
UV := uv
else
UV := .uv/bin/uv
PRIVATE_UV := $(UV)
endif

# Behind a company's TLS proxy the system knows certificates that uv's own list does not.
export UV_SYSTEM_CERTS ?= 1

# Tests start hundreds of processes: without bytecode each of them would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
PYTEST := .venv/bin/pytest
# Three more processes than cores, since many tests wait for a lease to expire.
PROCESSES = -n $$($(PYTHON) -c "import os; print((os.cpu_count() or 1) + 3)") --dist loadfile --no-loadscope-reorder

.PHONY: help run test quick browser screenshots lint check soak faults bench lock clean

help: ## show this table
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(STAMP) ## run the demo, with its dashboard
	.venv/bin/duetime demo

# Tests of SystemExit would end a process of several, so their file runs by itself. Tests that are
# marked `soak` are left to `make soak`.
test: $(STAMP) ## run the tests
	$(PYTEST) $(PROCESSES) --ignore tests/worker/test_handlers.py
	$(PYTEST) tests/worker/test_handlers.py

QUICK := tests/model tests/store/test_memory.py tests/store/test_sqlite.py tests/test_hygiene.py
CHANGED = $$(git diff --name-only --diff-filter=d HEAD -- '*.py' 2>/dev/null; git ls-files --others --exclude-standard -- '*.py' 2>/dev/null)

quick: $(STAMP) ## in under a minute: lint of what changed, units, conformance on memory and SQLite
	@files="$(CHANGED)"; [ -z "$$files" ] || { .venv/bin/ruff format --check $$files && .venv/bin/ruff check $$files; }
	$(PYTEST) $(PROCESSES) $(QUICK)

# The dashboard's tests: all, or with ONLY=main the main journeys, on SQLite alone. Debian's Chromium
# is found on PATH.
browser: $(STAMP) ## test the dashboard in Chromium: ONLY=main
	$(PYTEST) tests/browser $(if $(ONLY),-m "browser and $(ONLY)" -k "not postgres",-m browser)

screenshots: $(STAMP) ## take the pictures of the documentation, in Chromium
	cd tests && ../.venv/bin/python -m browser.screenshots

lint: $(STAMP) ## format, lint, types, layers
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

check: lint test ## all that must pass: lint and tests

soak: $(STAMP) ## run the long tests, then faults for hours: simulated, then real
	$(PYTEST) $(PROCESSES) -m soak
	.venv/bin/python tests/soak.py
	cd tests && ../.venv/bin/python -m faults

# tests/faults/catalog.py names the campaigns (ROW): kill, halt, lost-reply, restart, network and others.
faults: $(STAMP) ## deal faults to real processes: ROW=kill COUNT=30
	cd tests && ../.venv/bin/python -m faults $(ROW) $(COUNT) $(STORE)

# `.venv/bin/python bench/run.py --list` names the trials. Peers are installed into .bench.
# With PAIRS=<commit>, the working tree is compared with that commit instead; with PAIRS=sdk, with
# itself beside an SDK of OpenTelemetry; with PAIRS=subscription ONLY=failing, beside one to failures.
bench: $(STAMP) ## measure, beside peers or beside PAIRS=<commit>: ONLY=drain SCALE=0.1 ROUNDS=3
	.venv/bin/python bench/$(if $(PAIRS),pairs.py $(PAIRS),run.py) $(addprefix --only ,$(ONLY)) \
		$(addprefix --scale ,$(SCALE)) $(addprefix --rounds ,$(ROUNDS))

# The lock holds hashes and no address, so it installs from whichever index the machine uses.
lock: $(PRIVATE_UV) ## renew the locked versions
	$(UV) pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
		--all-extras --group dev --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links -o $(LOCK)

clean: ## remove all that make has made
	rm -rf .venv .uv .bench .tools dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

NO_INDEX := Packages could not be installed. If the package index cannot be reached, set UV_DEFAULT_INDEX and PIP_INDEX_URL to a mirror; behind a TLS proxy, set SSL_CERT_FILE and PIP_CERT to the proxy's certificate.

$(STAMP): pyproject.toml $(LOCK) $(PRIVATE_UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(UV) pip sync --quiet --python .venv/bin/python --require-hashes $(LOCK) || { echo "$(NO_INDEX)"; exit 1; }
	$(UV) pip install --quiet --python .venv/bin/python --no-deps -e .
	@touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/pip install --quiet uv || { echo "$(NO_INDEX)"; rm -rf .uv; exit 1; }
