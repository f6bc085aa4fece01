# `make help` says what there is. Everything is installed in .venv, nothing outside this folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
LOG := $(VENV)/install.log

.DEFAULT_GOAL := help
.PHONY: help demo test test-long clean

help:
	@echo "make demo        learn the cart-pole swing-up, with a live display"
	@echo "make test        lint, format, types and tests"
	@echo "make test-long   the slower proofs"
	@echo "make clean       remove .venv, caches and built packages (runs/ is kept)"
	@echo "PYTHON=python3.12 make …   another Python than python3 (3.11 or newer)"

demo: $(INSTALLED)
	@$(BIN)/vfpilco learn cartpole

test: $(INSTALLED)
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/pyright
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-long: $(INSTALLED)
	$(BIN)/python -m pytest -m long

# pip is silent unless it fails; then all it said is shown.
$(INSTALLED): pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
	  { echo "There is no $(PYTHON): install Python 3.11 or newer, or name it with PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$$($(PYTHON) --version) is too old: vfpilco needs 3.11 or newer; name one with PYTHON=…" >&2; exit 1; }
	@echo "installing in $(VENV) (once)"
	@mkdir -p $(VENV)
	@{ $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --editable '.[dev]'; } >$(LOG) 2>&1 || \
	  { cat $(LOG) >&2; echo "The installation failed: the reason stands above." >&2; exit 1; }
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
