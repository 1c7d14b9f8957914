# The things one does with this repository. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo

# Where cargo puts what it builds and how it builds that, and where the demo puts what it makes.
TARGET := $(or $(CARGO_TARGET_DIR),target)
PROFILE ?= release
OUT ?= out

.PHONY: help demo demo-cluster build dist wheel lab test test-slow fuzz fuzz-signal loom miri tsan avx512 arm64 \
	bench lint needs

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 14

build: ## build seqloom, and the test kit that makes data for it
	$(CARGO) build --profile $(PROFILE) -p seqloom -p seqloom-testkit

# In one go: cargo then builds seqloom, too, with the engine that does not align (fake-engine), which the
# laboratory wants. `make build` makes a seqloom without it.
lab: ## build the laboratory, seqloom-lab, and a seqloom for it
	$(CARGO) build --profile $(PROFILE) -p seqloom -p seqloom-testkit -p seqloom-lab

dist: ## an archive of a static program, man pages, completions and licences, from the lock file
	$(CARGO) build --locked --profile $(PROFILE) -p seqloom-testkit
	$(CARGO) rustc --locked --profile $(PROFILE) -p seqloom --bin seqloom -- \
		-C target-feature=+crt-static
	tests/dist.sh "$(TARGET)/$(PROFILE)" "$(OUT)/dist"
	tests/dist_root.sh "$(TARGET)/$(PROFILE)" "$(OUT)/dist"

# Where `make wheel` puts the package for Python.
DIST ?= dist

wheel: ## the package for Python with the program in it, dist/seqloom-*.whl
	$(CARGO) build --locked --profile $(PROFILE) -p seqloom -p seqloom-python-extension
	python/wheel.sh "$(TARGET)/$(PROFILE)/seqloom" "$(TARGET)/$(PROFILE)/lib_native.so" "$(DIST)" \
		"$(TARGET)/wheel-tools"

# Only what the demo needs is built: neither raw signal nor Arrow. A program that has them keeps them.
DEMO_FEATURES = $$("$(TARGET)/$(PROFILE)/seqloom" columns --help > /dev/null 2>&1 || echo --no-default-features)

demo: ## simulate a genome and reads, align, prepare, judge against the truth
	$(CARGO) build --profile $(PROFILE) $(DEMO_FEATURES) -p seqloom -p seqloom-testkit
	tests/demo.sh "$(TARGET)/$(PROFILE)" "$(OUT)"

demo-cluster: build needs ## the demo's reads on three Ray nodes of this machine, one of which is killed
	tests/demo_cluster.sh "$(TARGET)/$(PROFILE)" "$(OUT)/cluster"

needs: ## install what the tests compare with, where that is possible
	tests/install-needs.sh

# Many tests wait for another program, so that one more than there are cores may run.
TESTS = RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) + 1))} \
	$(CARGO) test --profile checked --workspace

test: needs loom ## all tests but the long ones
	$(TESTS)

# Parts are in tests/slow.sh; `make test-slow PART=identity` runs one.
PART ?=

test-slow: needs ## the long tests too (runs of 1 M reads and more), or PART="identity modes" of them
	tests/install-needs.sh rust
	CARGO="$(CARGO)" tests/slow.sh $(PART)

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
		$(CARGO) test --release -p seqloom-locks -p seqloom-rings -p seqloom-runtime --lib models

miri: ## the codecs' vector code under Miri; skipped where that is missing
	tests/miri.sh

tsan: ## threads under ThreadSanitizer; skipped where a nightly compiler is missing
	tests/tsan.sh

avx512: ## AVX-512 kernels on an emulated processor; skipped where this one has it
	tests/avx512.sh

arm64: ## the program for aarch64, cross-built and emulated: kernels, demo and digests; skipped where that cannot be
	tests/arm64.sh

bench: build ## whole programs side by side on this machine
	tests/bench.sh "$(TARGET)/$(PROFILE)" "$(OUT)/bench"
	tests/bench_signal.sh "$(TARGET)/$(PROFILE)" "$(OUT)/bench-signal"

lint: ## formatting and lints, as continuous integration checks them
	$(CARGO) fmt --all --check
	$(CARGO) clippy --profile $(PROFILE) --workspace --all-targets -- -D warnings
