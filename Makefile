# MomentJudge's commands; `make help` lists them. Nothing outside this folder is touched.
# Honoured from the environment: PORT, MOMENTJUDGE_VAR, PYTHON (which Python makes .venv), TORCH_INDEX (another
# package index for torch), ARGS (more words for pytest), JOBS (how many tests run at once).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# Without bytecode every process of a site, and there are dozens, compiles all of it anew.
unexport PYTHONDONTWRITEBYTECODE

TORCH := torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
PIP := PIP_ROOT_USER_ACTION=ignore $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input
# Quiet when all is well, wordy when not.
CHECK := $(BIN)/python -m pip check > /dev/null || $(BIN)/python -m pip check
LOCKED := $(PIP) --no-deps --require-hashes --requirement

# A stamp's name holds the hash of what was installed: a changed lock is installed, a touched one is not.
hash = $(shell sha256sum $(1) | cut -c1-12)
BASE := $(VENV)/.base-$(call hash,requirements/base.lock)
TORCHED := $(VENV)/.torch-$(subst torch==,,$(TORCH))
ML := $(VENV)/.ml-$(call hash,requirements/ml.lock)
DEV := $(VENV)/.dev-$(call hash,requirements/dev.lock)
# Tests that `make test` leaves to `make test-all`.
LONG := (slow or browser_all or deployment)
# Tests that need neither servers of Debian's nor a database of their own; folders without any are not even imported.
SERVERLESS := not fuzz and not production and not mutations
ELSEWHERE := --ignore=tests/fuzz --ignore=tests/production

.PHONY: help run test test-all test-production lint audit types imports pytest mutations backup restore lock setup setup-dev

help: ## list these commands
	@printf 'MomentJudge\n\n'
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24
	@printf '\nSettings: PORT=8001, MOMENTJUDGE_VAR=/data/folder, before or after the command.\n'

run: setup ## install what is missing, then run the whole site until Ctrl-C
	@exec $(BIN)/python -m core.embedded --welcome judging/demo/welcome.txt --seed demo

test: setup-dev ## every check: style, types, imports, tests (not the slow ones)
	@# The checks run in what the tests leave idle; they are shown behind the tests, and each failure counts.
	@checks=$$(mktemp); trap 'kill $$! 2> /dev/null || true; rm -f "$$checks"' EXIT; \
	$(MAKE) --keep-going lint types imports > "$$checks" 2>&1 & \
	status=0; $(MAKE) pytest || status=$$?; \
	wait $$! || status=$$?; \
	cat "$$checks"; exit $$status

test-all: setup-dev ## the tests that `make test` leaves out: slow ones, every page in a browser, a site's start and upgrade
	@exec $(BIN)/python -m pytest $(ELSEWHERE) -n $(JOBS) --dist worksteal -m "$(LONG) and $(SERVERLESS)" $(ARGS)

test-production: setup-dev ## the API fuzzed; the site on real servers of Debian's: nginx, redis-server, PostgreSQL
	@missing=; for program in nginx redis-server openssl; do \
	  PATH="$$PATH:/usr/sbin" command -v $$program > /dev/null || missing="$$missing $$program"; done; \
	ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || missing="$$missing postgresql"; \
	[ -z "$$missing" ] || { echo "Missing:$$missing. On Debian and Ubuntu: sudo apt-get install$$missing" >&2; exit 1; }
	@compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' > /dev/null || \
	  echo 'Missing: faketime (optional; with CI=1 needed). Tests of clocks that jump need it.' >&2
	@$(BIN)/python -m pytest tests/fuzz -m fuzz -p no:randomly -n $(JOBS) --dist worksteal $(ARGS) || [ $$? = 5 ]  # 5: ARGS choose none of it
	@exec $(BIN)/python -m pytest tests/production -m production -p no:randomly -n $(JOBS) --dist worksteal $(ARGS)

lint: setup-dev ## style (ruff), names (tools/words.py), known ways to be insecure (bandit)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tools.words --check
	@$(BIN)/bandit --quiet --configfile pyproject.toml --recursive config core accounts annotation judging models_runner moment_retrieval manage.py \
	  2> >(grep --invert-match --extended-regexp '^\[(manager|tester)\]' >&2)  # what it says of our reasons for nosec

audit: setup-dev ## known weaknesses of the locked packages (pip-audit; needs its service)
	@exec $(BIN)/python -m tools.audit

types: setup-dev ## types (mypy)
	@$(BIN)/mypy

imports: setup-dev ## which package may import which (import-linter)
	@$(BIN)/lint-imports

pytest: setup-dev ## the tests, without the slow ones
	@$(BIN)/python -m pytest $(ELSEWHERE) -n $(JOBS) --dist worksteal -m "not $(LONG) and $(SERVERLESS)" $(ARGS)

mutations: setup-dev ## code changed 120 times, constraints and triggers dropped: tests must notice
	@$(BIN)/python -m pytest tests/judging/test_constraints_dropped.py -m mutations -p no:randomly
	@exec $(BIN)/python -m tools.mutations.run --jobs $(JOBS) $(ARGS)

backup: setup ## add a backup of database and files to the folder TO, while the site runs
	@exec $(BIN)/python manage.py backup $(or $(TO),backups) $(ARGS)

restore: setup ## restore the newest backup of the folder FROM into an empty database (YES=1 replaces a full one)
	@exec $(BIN)/python manage.py restore $(or $(FROM),backups) $(if $(YES),--yes) $(ARGS)

lock: ## rewrite requirements/*.lock after a pin has changed (needs uv)
	@command -v uv > /dev/null || { echo 'uv is missing: install it with pip' >&2; exit 1; }
	@requirements/lock

setup: $(BASE) $(TORCHED) $(ML)
setup-dev: $(BASE) $(TORCHED) $(ML) $(DEV)

$(BIN)/python:
	@echo '0/4 A Python environment in $(VENV) ...'
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$${found:-}" ]; then \
	  echo 'MomentJudge needs Python 3.11 or newer; found: '"$$(python3 --version 2>&1 || true)" >&2; \
	  echo 'Install one and name it: make run PYTHON=/path/to/python3.11' >&2; exit 1; \
	fi; \
	rm -rf $(VENV); \
	if "$$found" -c 'import venv, ensurepip' 2> /dev/null; then \
	  "$$found" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; \
	elif "$$found" -c 'import venv, pip' 2> /dev/null; then \
	  "$$found" -m venv --without-pip $(VENV) && "$$found" -m pip --python $(BIN)/python install --quiet pip || { rm -rf $(VENV); exit 1; }; \
	else \
	  echo "$$found has neither venv with ensurepip nor pip. On Debian and Ubuntu: sudo apt-get install python3-venv" >&2; exit 1; \
	fi

$(BASE): | $(BIN)/python
	@echo '1/4 Python packages (720 MB) ...'
	@rm -f $(VENV)/.base-*
	@$(LOCKED) requirements/base.lock
	@touch $@

$(TORCHED): | $(BASE)
	@echo '2/4 torch (up to 3 GB; a few minutes) ...'
	@rm -f $(VENV)/.torch-*
	@$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH)
	@touch $@

$(ML): | $(TORCHED)
	@echo '3/4 Sentence embeddings (500 MB) ...'
	@rm -f $(VENV)/.ml-*
	@$(LOCKED) requirements/ml.lock
	@$(CHECK)
	@touch $@

$(DEV): | $(ML)
	@echo '4/4 Tests, style, types ...'
	@rm -f $(VENV)/.dev-*
	@$(LOCKED) requirements/dev.lock
	@$(CHECK)
	@touch $@
