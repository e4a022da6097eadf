# Every target sets up what it needs in a local virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-corpora lint types benchmark clean

help:
	@echo "make demo          annotate two texts with the bundled models, and write demo.html"
	@echo "make test          run linter, type checker and the whole test suite"
	@echo "make test-corpora  read, write and compare whole corpora, where they are at hand"
	@echo "make lint          check style"
	@echo "make types         check types"
	@echo "make benchmark     measure costs, as ratios"
	@echo "make clean         remove what the other targets made"

# The plain installation that users get, and the same with the tools that work on it.
$(VENV)/installed: pyproject.toml constraints.txt hatch_build.py $(wildcard src/hyperspan/*/native/*.[ch])
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: $(VENV)/installed
	$(BIN)/hyperspan annotate examples/biomedical.txt --model genia
	$(BIN)/hyperspan annotate examples/literary.txt --model litbank
	$(BIN)/python examples/demo.py demo.html
	$(BIN)/hyperspan draw "Israeli UN Ambassador Danny" --types ORG,PER --mention 0:3:PER --mention 0:4:PER --mention 1:2:ORG --output demo.svg --force
	@echo "now open demo.html, the same texts as a page, and demo.svg, the hypergraph of the paper's example"

# One thread each: the workers share the cores.
test: lint types
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto

# Whole corpora, from ../shared/data or $$HYPERSPAN_DATA; minutes rather than seconds.
test-corpora: $(VENV)/installed-dev
	$(BIN)/pytest -m corpora

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/pyright

benchmark: $(VENV)/installed-dev
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/decode.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/corpora.py

clean:
	rm -rf $(VENV) demo.html demo.svg .pytest_cache .ruff_cache .hypothesis
