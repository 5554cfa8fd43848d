# Set-up, start and checks of Weir; `make` alone lists the targets.
# What is installed where, and when, is decided in packaging/prepare.py. Not tested on Windows.

.DEFAULT_GOAL := help
TARGETS := help run test check fix bench bench-peers clean
.PHONY: $(TARGETS)

# cpu, cuda, vulkan or metal; empty keeps what .venv has, and takes the system's default at first.
ACCEL ?=

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

prepare = @python="$$(sh packaging/find_python.sh)" && "$$python" packaging/prepare.py --accel "$(ACCEL)"

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /make \1: /p' $(firstword $(MAKEFILE_LIST))

run: ## set up what is missing and open Weir; ACCEL=cpu|cuda|vulkan|metal chooses the backend
	$(prepare)
	@$(BIN)/weir

test: ## run the tests; needs no screen
	$(prepare) --dev
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -m "not benchmark" -n 2 --dist worksteal

check: ## lint, check the format, the types and the import contracts
	$(prepare) --dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy packaging/prepare.py packaging/llama_bench.py
	$(BIN)/lint-imports

fix: ## repair what the linter can, and format
	$(prepare) --dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: ## measure the engine's speed
	$(prepare) --dev
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -m benchmark -s tests/benchmarks

bench-peers: ## compare the speed with llama-bench and llama-cpp-python, which is built once
	$(prepare) --dev
	@$(BIN)/python packaging/llama_bench.py
	@$(BIN)/python -m tests.benchmarks.peers

clean: ## remove all that make made here, .venv too; chats and models stay
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find app engine tests packaging -name __pycache__ -type d -exec rm -rf {} +

.DEFAULT:
	@echo "make: there is no target \"$@\"; the targets are: $(TARGETS)" >&2; exit 2
