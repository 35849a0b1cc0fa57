# One door for developers and CI. `make demo` and `make test` need nothing but
# Python >= 3.10 and make: the first call builds the environment in .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: help setup demo test check format fuzz parity bench ci clean

help:
	@echo "make demo    four simulated GPUs, seen, chosen and put to work"
	@echo "make test    the test suite"
	@echo "make check   ruff and mypy --strict"
	@echo "make format  let ruff tidy the sources"
	@echo "make fuzz    the property tests, deep"
	@echo "make parity  every operation beside TensorFlow, which is installed for it"
	@echo "make bench   timings beside their peers"
	@echo "make ci      check + test + demo"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "berth needs Python 3.10 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

setup: $(READY)

demo: $(READY)
	$(BIN)/berth devices --sim "4xTesla K20m"
	@echo
	$(BIN)/python examples/four_gpus.py
	@echo
	$(BIN)/python examples/towers.py
	@echo
	$(BIN)/python examples/train.py

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

fuzz: $(READY)
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest tests/properties

# TensorFlow lives in a virtual environment of its own: BERTH_BENCH_VENV says where.
parity: $(READY)
	PYTHONPATH=bench:docs $(BIN)/python -m tests.parity.differential

bench: $(READY)
	$(BIN)/python bench/memory.py
	@echo
	$(BIN)/python bench/command.py
	@echo
	$(BIN)/python bench/scaling.py
	@echo
	$(BIN)/python bench/run.py
	@echo
	$(BIN)/python bench/training.py

ci: check test demo

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
