# The things one does with this repository. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo

# Where cargo puts what it builds, and where the demo puts what it makes.
TARGET := $(or $(CARGO_TARGET_DIR),target)
OUT ?= out

.PHONY: help demo build test test-slow fuzz fuzz-signal loom miri avx512 bench lint needs

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 14

build: ## build seqloom and the test kit (release)
	$(CARGO) build --release -p seqloom -p seqloom-testkit

demo: build ## simulate a genome and reads, align, prepare, judge against the truth
	tests/demo.sh "$(TARGET)/release" "$(OUT)"

needs: ## install what the tests compare with, where that is possible
	tests/install-needs.sh

# The pure libraries run with overflow checks and debug assertions; the engine (C++, 40 s a
# profile), the lab, which drives it, and the binary run as they are shipped, so that `demo` and the
# tests share one build.
test: needs loom ## all tests but the long ones
	$(CARGO) test --workspace --exclude seqloom --exclude seqloom-align --exclude seqloom-lab
	$(CARGO) test --release -p seqloom-align -p seqloom-lab -p seqloom

test-slow: needs fuzz fuzz-signal miri avx512 ## the long tests too (runs of 1 M reads and more)
	SEQLOOM_SLOW=1 $(CARGO) test --workspace --exclude seqloom --exclude seqloom-align --exclude seqloom-lab
	SEQLOOM_SLOW=1 $(CARGO) test --release -p seqloom-align -p seqloom-lab -p seqloom -- --nocapture

fuzz: ## every parser of foreign bytes under a fuzzer, 20 s each; skipped where that is missing
	fuzz/run.sh 20

# Decoders of raw signal.
SIGNAL_TARGETS := slow5_header slow5_text slow5_record slow5_signal slow5_file slow5_index \
	pod5 pod5_parts hdf5 vbz deflate

fuzz-signal: ## the decoders of raw signal, a million executions each
	fuzz/run.sh 1000000x $(SIGNAL_TARGETS)

# A folder of its own, or changed RUSTFLAGS would rebuild everything each time.
loom: ## every order in which threads can meet at locks and queues, checked by loom
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="$(TARGET)/loom" \
		$(CARGO) test --release -p seqloom-locks -p seqloom-runtime --lib models

miri: ## the codecs' vector code under Miri; skipped where that is missing
	tests/miri.sh

avx512: ## AVX-512 kernels on an emulated processor; skipped where this one has it
	tests/avx512.sh

bench: build ## whole programs side by side on this machine
	tests/bench.sh "$(TARGET)/release" "$(OUT)/bench"
	tests/bench_signal.sh "$(TARGET)/release" "$(OUT)/bench-signal"

lint: ## formatting and lints, as continuous integration checks them
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
