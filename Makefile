# One door for developers and CI. `make demo` and `make test` need nothing but
# Python >= 3.10 and make: the first call builds the environment in .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Two steps: what a user needs, which is all that the demo waits for, and what a developer needs.
USABLE := $(VENV)/.usable
READY  := $(VENV)/.ready
DOCS   := $(VENV)/.docs

.PHONY: help setup demo test check format api reference docs dist fuzz mutants coverage parity keras-tests bench ci clean

help:
	@echo "make demo    TensorFlow's program for several GPUs, on four simulated ones"
	@echo "make test    the test suite"
	@echo "make check   ruff and mypy --strict"
	@echo "make format  let ruff tidy the sources"
	@echo "make api     write the public modules from what the code declares"
	@echo "make reference  write the reference pages that are made from the code"
	@echo "make docs    build the documentation into site/"
	@echo "make dist    build sdist and wheel, and try both in a clean environment"
	@echo "make fuzz    the property tests, deep"
	@echo "make mutants a mutation test of the core (a sample, about 5 minutes)"
	@echo "make coverage  which lines and branches the tests run"
	@echo "make parity  every operation beside TensorFlow, which is installed for it"
	@echo "make keras-tests  Keras's own tests, in an environment of their own"
	@echo "make bench   timings beside their peers"
	@echo "make ci      check + test + demo"

$(USABLE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "berth needs Python 3.10 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(READY): $(USABLE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

setup: $(READY)

demo: $(USABLE)
	$(BIN)/berth run --sim "4xTesla K20m" --report examples/towers.py

test: $(READY)
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -n auto --maxprocesses=4 --dist=worksteal

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What is declared in the code decides what is public: this writes the public modules.
api: $(READY)
	$(BIN)/python dev/make_api.py

# The same for docs/: operations, command line, environment variables, errors, cards, layers.
reference: $(READY)
	$(BIN)/python docs/make_ops.py
	$(BIN)/python dev/make_reference.py
	$(BIN)/python dev/make_architecture.py

$(DOCS): $(USABLE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html"

dist: $(USABLE)
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dist]'
	$(BIN)/python -m build --quiet
	$(BIN)/python dev/smoke_test.py dist/*.whl dist/*.tar.gz

fuzz: $(READY)
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest tests/properties

mutants: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python dev/mutants.py

coverage: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --maxprocesses=4 --dist=worksteal \
	  --cov=berth --cov-branch --cov-report=term:skip-covered --cov-report=html:.coverage-html

# TensorFlow lives in a virtual environment of its own: BERTH_BENCH_VENV says where.
parity: $(READY)
	PYTHONPATH=bench:docs $(BIN)/python -m tests.parity.differential
	PYTHONPATH=bench $(BIN)/python -m tests.parity.differential.device_strings
	PYTHONPATH=bench $(BIN)/python -m tests.parity.differential.training
	PYTHONPATH=bench $(BIN)/python -m tests.parity.differential.checkpoints
	PYTHONPATH=bench $(BIN)/python -m tests.parity.differential.autograph

# Keras and what its tests need: BERTH_KERAS_VENV says where.
keras-tests: $(READY)
	$(BIN)/python dev/keras_tests.py

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
	@echo
	$(BIN)/python bench/cifar10.py

ci: check test demo

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis site dist
