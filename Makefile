# make demo and make test do all set-up on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow bench lint setup corpus clean

setup: $(STAMP)

# The stamp is newer than both files once everything they ask for is installed.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "spanfluence needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/spanfluence demo

lint: $(STAMP)
	$(BIN)/ruff check src tests experiments benchmarks
	$(BIN)/ruff format --check src tests experiments benchmarks
	$(BIN)/mypy

test: lint
	$(BIN)/pytest --cov --cov-report=term:skip-covered --cov-fail-under=90

test-slow: $(STAMP)
	$(BIN)/pytest -m slow

# Speed of the span finders; READER=DIR also times a reader against its own plain forward pass.
bench: $(STAMP)
	$(BIN)/python benchmarks/spans.py $(if $(READER),--reader $(READER))

# Write the bundled corpus anew from its generator.
corpus: $(STAMP)
	$(BIN)/python -m spanfluence.data.bundled

clean:
	rm -rf $(VENV) demo build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .coverage
