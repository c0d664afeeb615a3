# `make` lists the targets. Each sets up what it needs (tools/setup) and is quick when repeated.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup setup-test build python wheel docs notebooks demo test bench peers layers format check-format tidy clean \
        soak fuzz faults coverage test-release test-dev test-tsan test-work test-python test-python-asan test-viewer

JOBS ?= $(shell nproc)
# Warnings are errors here; `make build WERROR=OFF` for a compiler newer than ours.
WERROR ?= ON
ARGS ?=

# Where ccache is installed builds go through it, with paths relative to the clone, so that clones share what was compiled.
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= true
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
endif

sources = $(shell find src scenes bench apps tests -name '*.cpp' -o -name '*.hpp')
# build_preset(preset, folder, target): configure, saying so the first time only, and build.
build_preset = cmake --preset $(1) -DALMOND_WERROR=$(WERROR) $(if $(wildcard $(2)/build.ninja),>/dev/null) && \
               cmake --build $(2) -j $(JOBS) --target $(3)

help: ## This list
	@echo "Almond: exact Signorini-Coulomb contact for robots"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:
	@tools/setup

setup-test:
	@tools/setup test

build: setup ## Build the library and the program build/almond
	@$(call build_preset,release,build,almond)

python: setup-test ## Build the Python package into build/python
	@cmake --preset release -DALMOND_WERROR=$(WERROR) -DALMOND_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python >/dev/null
	@cmake --build build -j $(JOBS) --target almond_python almond_python_stub

wheel: setup-test ## Build a wheel that runs on other machines too, into build/wheel
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) tools/wheel build/wheel

docs: python ## Build the documentation site into build/site
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(CURDIR)/build/python .venv/bin/python -m mkdocs build -q --strict
	@echo "build/site/index.html; with search: python3 -m http.server -d build/site"

notebooks: python ## Run the long notebooks of docs/notebooks again, which keep their outputs
	@PYTHONPATH=$(CURDIR)/build/python .venv/bin/python tools/site/notebooks.py $(ARGS)

demo: build ## Solve built-in contact problems with every solver, live; write a page with the curves and a replay
	@build/almond demo $(ARGS)

bench: build ## Compare solvers on a folder of problem files: make bench ARGS="FOLDER --html page.html"
	@build/almond bench fclib $(ARGS)

peers: ## Install other people's solvers, which the benchmarks then run beside ours
	@tools/setup peers

test: setup-test test-release test-dev test-tsan test-work test-python test-viewer ## Layers, format, tests, sanitizers, Python oracles: what CI runs
	@for log in release dev tsan; do printf '%-8s' $$log; grep 'tests passed' build/test-$$log.log; done
	@printf '%-8s' work && tail -n 1 build/test-work.log
	@printf '%-8s' python && tail -n 1 build/test-python.log
	@printf '%-8s' viewer && grep -oE '((pass|fail|skipped) [0-9]+|no npm.*)$$' build/test-viewer.log | tr '\n' ' ' && echo

test-release: setup layers check-format ## Tests of the optimised build
	@$(call build_preset,release,build,all)
	@ctest --preset release -j $(JOBS) | tee build/test-release.log

# Each sanitizer builds only what it is worth: dev no benchmarks and program, tsan no tests without threads.
test-dev: setup ## Tests with assertions, AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call build_preset,dev,build/dev,almond_tests)
	@ctest --preset dev -j $(JOBS) | tee build/test-dev.log

# Strong address space randomisation collides with the shadow memory of older ThreadSanitizers: off where allowed.
test-tsan: setup ## Tests that run threads, with ThreadSanitizer
	@$(call build_preset,tsan,build/tsan,almond_tests)
	@$(shell setarch -R true 2>/dev/null && echo setarch -R) ctest --preset tsan -j $(JOBS) | tee build/test-tsan.log

test-work: setup-test ## Iterations and instructions of fixed problems and steps against tests/bench/work_baseline.json
	@tools/work_baseline --check | tee build/test-work.log

test-python: setup-test build python ## Python tests and oracles
	@PYTHONPATH=$(CURDIR)/build/python .venv/bin/python -m pytest -q tests | tee build/test-python.log

# The sanitizer has to be there before the interpreter is, and its own leaks are the interpreter's; those of the module nanobind
# counts. GCC's runtime; the tests that start other interpreters are left out.
test-python-asan: setup-test ## Python tests with AddressSanitizer and UndefinedBehaviorSanitizer in the module
	@cmake --preset dev -DALMOND_WERROR=$(WERROR) -DALMOND_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python >/dev/null
	@cmake --build build/dev -j $(JOBS) --target almond_python
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	  PYTHONPATH=$(CURDIR)/build/dev/python .venv/bin/python -m pytest -q -p no:cacheprovider --ignore tests/python/test_wheel.py tests/python 2>&1 | \
	  tee build/test-python-asan.log
	@! grep '^nanobind: leaked' build/test-python-asan.log

# One browser at a time: without a graphics card each draws with all cores.
test-viewer: setup-test build ## The web page: types, format, and in a real browser
	@if command -v npm >/dev/null; then \
	  (cd viewer && npm run --silent check) && \
	  { (cd viewer && npm test --silent) >build/test-viewer.log 2>&1 || { tail -n 80 build/test-viewer.log; exit 1; }; }; \
	  grep -E '(pass|fail|skipped) [0-9]+$$' build/test-viewer.log; \
	else echo "no npm: the web page is not tested" | tee build/test-viewer.log; fi

# The long forms of what `make test` looks into: docs/reliability.md has what they came to.
SOAK_STEPS ?= 1000000
soak: build ## Push and drive every scene with every solver at random, SOAK_STEPS steps in all, and check each
	@build/almond soak --steps $(SOAK_STEPS) $(ARGS)

faults: setup-test build ## Full disks, deaths while writing, damaged files, jumping clocks, viewers that stall: every moment of them
	@ALMOND_FAULTS=long .venv/bin/python -m pytest -q tests/faults $(ARGS)

# A build with counters is slow: a test that gives a solver seconds may fail here, which is told, and the lines that it ran count.
coverage: setup ## Lines of the library that the C++ tests run, by folder, and functions that none does
	@$(call build_preset,coverage,build/coverage,almond_tests)
	@find build/coverage -name '*.gcda' -delete
	@ctest --preset coverage -j $(JOBS) >build/test-coverage.log || sed -n '/tests passed/,$$p' build/test-coverage.log
	@python3 tools/coverage.py build/coverage $(ARGS)

# Clang has libFuzzer; any release will do (tools/clang).
FUZZ_CXX ?=
FUZZ_TARGETS ?=

fuzz: setup ## Fuzz every reader, the live page and the solvers: FUZZ_RUNS=1000000 inputs each, FUZZ_TARGETS="urdf npz" for some
	@tools/setup fuzz "$(FUZZ_CXX)"
	@cxx=$$(tools/clang "$(FUZZ_CXX)") && cmake --preset fuzz -DCMAKE_CXX_COMPILER="$$cxx" -DCMAKE_C_COMPILER="$${cxx/clang++/clang}" >/dev/null
	@cmake --build build/fuzz -j $(JOBS) --target $(if $(FUZZ_TARGETS),$(addprefix fuzz_,$(FUZZ_TARGETS)),almond_fuzzers)
	@tools/fuzz build/fuzz $(FUZZ_TARGETS)

layers: ## Check who includes whom
	@python3 tests/check_layers.py

check-format: setup-test
	@.venv/bin/clang-format --dry-run --Werror $(sources)

format: setup-test ## Format all C++ sources
	@.venv/bin/clang-format -i $(sources)

tidy: setup ## Run clang-tidy (naming, common mistakes)
	@tools/setup tidy
	@cmake --preset release -B build/tidy -DCMAKE_UNITY_BUILD=OFF -DALMOND_PCH=OFF >/dev/null
	@find src scenes bench apps -name '*.cpp' | xargs -P $(JOBS) -n 1 clang-tidy --quiet -p build/tidy

clean: ## Remove the build folders and .venv
	rm -rf build .venv
