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

# Tests start hundreds of processes: without bytecode each of them would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test lint check soak faults bench lock clean

help: ## show this table
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(STAMP) ## run the demo
	.venv/bin/duetime demo

# On all cores, file by file, and one more, since many tests wait for a lease to run out; what a
# test of SystemExit would end runs by itself.
test: $(STAMP) ## run the tests
	.venv/bin/pytest -n $$($(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)") --dist loadfile --no-loadscope-reorder --ignore tests/worker/test_handlers.py
	.venv/bin/pytest tests/worker/test_handlers.py

lint: $(STAMP) ## format, lint, types, layers
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

check: lint test ## all that must pass: lint and tests

soak: $(STAMP) ## run the long tests with faults: simulated, then real
	.venv/bin/python tests/soak.py
	cd tests && ../.venv/bin/python -m faults

# tests/faults/rows.py has the rows: kill, halt, lost-reply, restart, network and others.
faults: $(STAMP) ## deal faults to real processes: ROW=kill COUNT=30
	cd tests && ../.venv/bin/python -m faults $(ROW) $(COUNT) $(STORE)

# `.venv/bin/python bench/run.py --list` names the trials. Peers are installed into .bench.
# With PAIRS=<commit>, the working tree is compared with that commit instead.
bench: $(STAMP) ## measure, beside peers or beside PAIRS=<commit>: ONLY=drain SCALE=0.1 ROUNDS=3
	.venv/bin/python bench/$(if $(PAIRS),pairs.py $(PAIRS),run.py) $(addprefix --only ,$(ONLY)) \
		$(addprefix --scale ,$(SCALE)) $(addprefix --rounds ,$(ROUNDS))

# The lock holds hashes and no address, so it installs from whichever index the machine uses.
lock: $(PRIVATE_UV) ## renew the locked versions
	$(UV) pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
		--all-extras --group dev --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links -o $(LOCK)

clean: ## remove all that make has made
	rm -rf .venv .uv .bench dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(STAMP): pyproject.toml $(LOCK) $(PRIVATE_UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(UV) pip sync --quiet --python .venv/bin/python --require-hashes $(LOCK)
	$(UV) pip install --quiet --python .venv/bin/python --no-deps -e .
	@touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/pip install --quiet uv
