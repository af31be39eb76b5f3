# make demo and make test do all set-up on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_VENV := .venv-bench
BENCH_BIN := $(BENCH_VENV)/bin
BENCH_STAMP := $(BENCH_VENV)/.installed
BENCH_PINS := --constraint constraints.txt --constraint benchmarks/constraints.txt

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
	$(BIN)/pytest -n 2 --cov --cov-report=term:skip-covered --cov-fail-under=90

test-slow: $(STAMP)
	$(BIN)/pytest -m slow

# Speed against captum and kronfluence, in their own environment, then of the span finders. READER=DIR times
# a trained reader instead of an untrained one; BENCH_FLAGS="--tests 8 --spans 16 --threads 1" changes the sizes.
bench: $(BENCH_STAMP)
	$(BENCH_BIN)/python benchmarks/run.py $(BENCH_FLAGS)
	$(BENCH_BIN)/python benchmarks/spans.py --limit 2000 $(if $(READER),--reader $(READER))

# kronfluence declares torchvision, which its code does not need: it goes in without its dependencies.
$(BENCH_STAMP): pyproject.toml constraints.txt benchmarks/constraints.txt
	test -x $(BENCH_BIN)/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_BIN)/pip install --quiet $(BENCH_PINS) --editable '.[demo]' captum accelerate einops einconv opt-einsum
	$(BENCH_BIN)/pip install --quiet $(BENCH_PINS) --no-deps kronfluence
	@touch $@

# Write the bundled corpus anew from its generator.
corpus: $(STAMP)
	$(BIN)/python -m spanfluence.data.bundled

clean:
	rm -rf $(VENV) $(BENCH_VENV) demo build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .coverage
