# `make help` lists the targets. Everything is installed in .venv, nothing outside this folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
LOG := $(VENV)/install.log

.DEFAULT_GOAL := help
.PHONY: help demo test test-long campaigns lint types layers docs clean

help:
	@echo "make demo        learn the cart-pole swing-up, with a live display"
	@echo "make test        lint, format, types, layers, documentation and tests"
	@echo "make test-long   the slower proofs"
	@echo "make campaigns   faults, kills and hostile data at random, for MINUTES=20; recorded in docs/results/campaigns.jsonl"
	@echo "make docs        the documentation site, in docs/_build/html"
	@echo "make clean       remove .venv, caches and built packages (runs/ is kept)"
	@echo "PYTHON=python3.12 make …   another Python than python3 (3.11 or newer)"

demo: $(INSTALLED)
	@$(BIN)/vfpilco learn cartpole

# Two processes at a time; tests that wait are taken over by the process that is done.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

test: $(INSTALLED)
	$(MAKE) --no-print-directory -j 2 lint types layers docs
	$(PYTEST)

# The code of the short tests is compiled quickly; complete learning runs need code that is fast.
test-long: $(INSTALLED)
	@$(BIN)/python -c 'import sb3_contrib' 2>/dev/null || $(BIN)/python -m pip install --quiet --editable '.[baselines]'
	XLA_FLAGS=--xla_backend_optimization_level=3 $(PYTEST) -m long

# Every call continues from the first unused seed. A case that failed: VFPILCO_CAMPAIGN_SEED=… pytest -m campaign FILE -k …
MINUTES ?= 20
campaigns: $(INSTALLED)
	VFPILCO_CAMPAIGN_MINUTES=$(MINUTES) XLA_FLAGS=--xla_backend_optimization_level=3 $(PYTEST) -m campaign

lint: $(INSTALLED)
	$(BIN)/ruff check src tests examples docs
	$(BIN)/ruff format --check src tests examples docs

types: $(INSTALLED)
	$(BIN)/pyright

layers: $(INSTALLED)
	$(BIN)/lint-imports --no-logo

docs: $(INSTALLED)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# pip is silent unless it fails; then its output is shown.
$(INSTALLED): pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
	  { echo "There is no $(PYTHON): install Python 3.11 or newer, or name another one with PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$$($(PYTHON) --version) is too old: vfpilco needs 3.11 or newer; name one with PYTHON=…" >&2; exit 1; }
	@echo "installing in $(VENV) (once)"
	@mkdir -p $(VENV)
	@{ $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --editable '.[dev]'; } >$(LOG) 2>&1 || \
	  { cat $(LOG) >&2; echo "The installation failed: see above." >&2; exit 1; }
	@touch $@

clean:
	rm -rf $(VENV) build dist docs/_build .pytest_cache .ruff_cache .import_linter_cache src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
