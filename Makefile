# Every target sets up .venv by itself; the second time there is nothing left to do.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
DOCS_INSTALLED := .venv/.installed-docs
DOORS_INSTALLED := .venv-doors/.installed
define NEEDS_PYTHON
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "contextualdag needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12"; exit 1; }
endef
# Processes for the tests, each with one thread: one per core, up to eight. Whole files go to one process, in the order of
# collection, so that the models their tests share are fitted once.
PARALLEL := -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-quick test-long test-gpu test-doors attack release check format bench docs clean

demo: $(INSTALLED)
	$(BIN)/contextualdag demo

test: $(INSTALLED)
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

# The tests that take moments, for while one works.
test-quick: $(INSTALLED)
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not long and not gpu" tests $(ARGS)

# The tests that `make test` leaves out for their length: benchmarks, killed sweeps, the explorer with other models.
test-long: $(INSTALLED)
	$(BIN)/python -m pytest $(PARALLEL) -m long $(ARGS)

test-gpu: $(INSTALLED)
	$(BIN)/python -m pytest -m gpu $(ARGS)

# lingam and DoWhy need an older SciPy than the other packages, so they have an environment of their own.
test-doors: $(DOORS_INSTALLED)
	.venv-doors/bin/python -m pytest tests/estimators/test_doors.py $(ARGS)

# The short form of the attacks, a minute or two. `make attack ARGS="--minutes 60"` before a release.
ARGS_OF_ATTACK := $(or $(ARGS),--short)
attack: $(INSTALLED)
	$(BIN)/python -m attack $(ARGS_OF_ATTACK)

# Wheel, source distribution and a bill of materials, tried in a new environment: dist/.
release:
	$(PYTHON) -m release $(ARGS)

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(INSTALLED)
	$(BIN)/python benchmarks/projection.py

# The pages are docs/_build/html/index.html; the examples are run on the way.
docs: $(DOCS_INSTALLED)
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

$(INSTALLED): pyproject.toml constraints.txt
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(DOCS_INSTALLED): $(INSTALLED)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

$(DOORS_INSTALLED): pyproject.toml constraints.txt
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv .venv-doors
	.venv-doors/bin/pip install --quiet --constraint constraints.txt --editable '.[dev,doors]'
	touch $@

clean:
	rm -rf docs/_build docs/gallery docs/generated
	rm -rf .venv .venv-doors .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
