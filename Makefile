# Needs only make and Python 3.11 or newer. Everything is installed into .venv, from requirements.lock.

PYTHON ?= python3
BIN := .venv/bin

# The arrays here are small: more threads only get in each other's way, and results would depend on their number.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: help demo test check docs bench fuzz soak lock dist clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' Makefile

demo: .venv/.ready  ## Set everything up and open the twin
	$(BIN)/thenar demo $(ARGS)

test: .venv/.ready .venv/.system  ## Set everything up and run the tests (ARGS="-k touch" picks some)
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not soak and not timing" $(ARGS) || [ $$? -eq 5 ]  # 5: none of these was asked for
	$(BIN)/python -m pytest -m timing $(ARGS) || [ $$? -eq 5 ]

check: .venv/.ready  ## Lint, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright

docs: .venv/.ready  ## Build the documentation into docs/_build; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build $(ARGS)
	@echo 'docs/_build/index.html'

bench: .venv/.ready  ## Measure speed, touch and endurance on this machine, and write docs/bench
	$(BIN)/python -m bench --out docs/bench $(ARGS)
	$(BIN)/python -m bench.retarget --out docs/bench

fuzz: .venv/.ready  ## Give wrong bytes to every parser for a minute (ARGS="--minutes 600" for longer); keeps what it finds
	$(BIN)/python -m bench.fuzz $(ARGS)

soak: .venv/.ready  ## Run a twin among bad clients and faults for ten minutes, and judge it (ARGS="--minutes 120" for longer)
	$(BIN)/python -m bench.soak $(ARGS)

lock: .venv/.deps  ## Bring requirements.lock in line with pyproject.toml (ARGS=--upgrade takes newer releases)
	@cp requirements.lock .venv/lock
	$(BIN)/uv pip compile pyproject.toml --group dev --group docs --extra modbus --extra humanoid --extra film --extra record --extra lerobot --extra view --extra gym --extra camera --extra gpu --output-file .venv/lock --quiet \
		--universal --python-version 3.11 --generate-hashes --no-strip-extras \
		--no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(ARGS)
	@cmp -s .venv/lock requirements.lock || cp .venv/lock requirements.lock  # the same lock keeps the environment

# The bill lists what users install, at the versions of the lock; its tool has an environment of its own.
dist: .venv/.deps  ## Build the wheel, the source archive and the bill of materials into dist
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/uv pip compile pyproject.toml --extra all --extra gpu --constraints requirements.lock --output-file .venv/runtime.lock --quiet \
		--universal --python-version 3.11 --generate-hashes --no-strip-extras --no-annotate --no-header --no-emit-index-url
	$(BIN)/uv tool run --from cyclonedx-bom==7.5.0 cyclonedx-py requirements .venv/runtime.lock --pyproject pyproject.toml \
		--output-format JSON --output-reproducible --output-file dist/thenar.cdx.json

clean:  ## Remove what the other targets made
	rm -rf .venv dist docs/_build docs/_generated .cache .pytest_cache .ruff_cache .hypothesis
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

# A new lock means a new environment, so that nothing outlives the lock that asked for it.
.venv/.deps: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'thenar needs Python 3.11 or newer, and "$(PYTHON)" is not. If you have one under another name:' \
			'make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
		echo 'This Python cannot make virtual environments. On Debian and Ubuntu: sudo apt-get install python3-venv' \
			>&2; exit 1; }
	@echo 'Setting up .venv: about a minute, once.'
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

.venv/.ready: .venv/.deps pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.system: .venv/.deps scripts/system-packages
	@PYTHON=$(PYTHON) scripts/system-packages
	@touch $@
