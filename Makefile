# run: the whole house on one port · test, lint: what CI runs · fix: format and repair · fuzz: ten minutes of damaged files · bench: the engine's speed, beside that of peers after make peers
PORT ?= 8000
HOST ?= 127.0.0.1
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
ENGINE := roofline
DJANGO := config faces accounts jobs gpus llms costs predictions benchmarks_ingest planner
stamp = $(VENV)/.$(1)-$(firstword $(shell cat requirements/$(1).txt | cksum))
BASE := $(call stamp,base)
DEV := $(call stamp,dev)
PIP := $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes

.PHONY: run test lint fix fuzz bench peers locks

run: $(BASE)
	@exec $(PY) manage.py serve --host $(HOST) --port $(PORT) --end-with-parent

test: $(DEV)
	$(PY) -m pytest -n auto $(ARGS)

lint: $(DEV)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy $(ENGINE) $(DJANGO) tests
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/djade --check --target-version 5.2 $$(git ls-files 'templates/*.html')
	$(PY) manage.py makemigrations --check --dry-run
	! grep -nE '^[^\#]*(https?://|index-url|find-links|trusted-host)' requirements/*.txt

fix: $(DEV)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/djade --target-version 5.2 $$(git ls-files 'templates/*.html') || true

fuzz: $(DEV)
	$(PY) -m tests.ingest.fuzz 600

bench: $(DEV)
	$(PY) manage.py bench

peers:
	$(PYTHON) -m venv .peers
	.peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/peers.txt

locks: $(DEV)
	$(VENV)/bin/pip-compile --quiet --allow-unsafe --generate-hashes --strip-extras --no-emit-find-links --no-emit-index-url --no-emit-trusted-host --output-file=requirements/base.txt requirements/base.in
	$(VENV)/bin/pip-compile --quiet --allow-unsafe --generate-hashes --strip-extras --no-emit-find-links --no-emit-index-url --no-emit-trusted-host --output-file=requirements/dev.txt requirements/dev.in
	$(VENV)/bin/pip-compile --quiet --allow-unsafe --generate-hashes --strip-extras --no-emit-find-links --no-emit-index-url --no-emit-trusted-host --output-file=requirements/peers.txt requirements/peers.in

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The lock's checksum is in the stamp's name: a changed lock installs again, an unchanged one costs nothing.
$(BASE): | $(VENV)/bin/python
	$(PIP) -r requirements/base.txt
	@rm -f $(VENV)/.base-* && touch $@

$(DEV): $(BASE)
	$(PIP) -r requirements/dev.txt
	@rm -f $(VENV)/.dev-* && touch $@
