# What people and CI call. Each target installs what it misses (see scripts/need) and then does its work.

.DEFAULT_GOAL := help
.PHONY: help build demo test page rootless fuzz bench guest nic-guest lint portable audit soak console schema manual docs package reproduce python
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

CARGO := scripts/with-rust cargo
TIMED := scripts/timed
TARGET := $(or $(CARGO_TARGET_DIR),target)

# The long counts of `make soak`.
CASES ?= 100000
SCHEDULES ?= 1000000
KILLS ?= 10000
FUZZ_ROUNDS ?= 10000000
FATES ?= 10000000
PLAYS ?= 2000
LONG_FUZZ_SECONDS ?= 600
HOLD_SECONDS ?= 600
LONG_API_CASES ?= 1000

# How long `make fuzz` searches each target.
FUZZ_SECONDS ?= 10

# The order of that search: the same in CI as here. `make soak` searches in another order each time.
FUZZ_SEED ?= 1

# What the generator asks of each operation of the console's interface.
API_CASES ?= 5

# The console's page in a browser, which is held against what is measured beside it.
define browser
	@$(TIMED) 'the page in a browser' scripts/console browser
endef

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

build: ## build target/release/romer
	@scripts/need linker
	@$(CARGO) build --release --locked --package romer
	@scripts/no-build-paths $(TARGET)/release/romer

demo: build ## build, measure between two network namespaces of this machine, and show the report
	@$(TARGET)/release/romer demo

test: ## run all tests; as root, those that use the kernel once more without privileges
	@scripts/need linker ip ethtool nft ping setpriv unshare jq chromium node npm curl tshark chronyd prometheus promtool
	@scripts/venv
	@$(TIMED) 'programs of others' scripts/peers
	@$(TIMED) 'cargo test' scripts/tests
	$(browser)
	@[ "$$(id -u)" = 0 ] || $(MAKE) --no-print-directory page
	@[ "$$(id -u)" != 0 ] || scripts/beside '$(MAKE) --no-print-directory page' '$(MAKE) --no-print-directory rootless'

# What is tested of the console without regard to time.
page:
	@$(TIMED) 'the page: what is built of it, its types and logic' scripts/console check
	@$(TIMED) 'the interface, by its description' scripts/api-fuzz $(API_CASES)

rootless:
	@$(TIMED) 'tests without privileges' scripts/rootless-tests

fuzz: ## run every fuzz target for FUZZ_SECONDS
	@scripts/need linker c++
	@ROMER_FUZZ_SEED=$(FUZZ_SEED) $(TIMED) 'fuzzing' scripts/fuzz $(FUZZ_SECONDS)

bench: ## measure romer's own error and its maximum rates, next to other tools (results in validation/)
	@scripts/need linker ip ethtool nft ping irtt iperf ITGSend sockperf trafgen iperf3 chromium node npm
	@$(TIMED) 'programs of others' scripts/peers
	@[ -f validation/Cargo.toml ] || { echo 'error: there is no validation/ in this tree' >&2; exit 1; }
	@$(CARGO) build --release --locked --package romer
	@$(CARGO) run --release --locked --package romer-validation -- all
	@$(CARGO) bench --quiet --locked --package romer-telemetry --bench scrape > validation/results/scrape.md
	@ROMER=$(TARGET)/release/romer ROMER_RESULTS=$(CURDIR)/validation/results $(TIMED) 'the console under fifty pages' scripts/console bench
	@$(TIMED) 'the wheel' scripts/python-wheel
	@scripts/python-bench > validation/results/python.md

guest: build ## compare netem and romer in an emulated guest (validation/results/netem.md)
	@ROMER=$(TARGET)/release/romer $(TIMED) 'netem in a guest' scripts/netem-guest validation/results/netem.md

nic-guest: ## test time stamps of emulated network cards with their stock drivers
	@$(CARGO) build --locked --package romer
	@ROMER=$(TARGET)/debug/romer $(TIMED) 'network cards in a guest' scripts/nic-guest

lint: ## check formatting, clippy, documentation, rules of the repository, licences and sources
	@scripts/need linker
	@{ $(CARGO) clippy --version && $(CARGO) fmt --version; } >/dev/null 2>&1 || \
		scripts/with-rust rustup component add clippy rustfmt
	@$(TIMED) 'formatting' $(CARGO) fmt --all --check
	@$(TIMED) 'rules of the repository' $(CARGO) run --quiet --locked --package xtask -- check
	@$(TIMED) 'clippy' $(CARGO) clippy --workspace --all-targets --locked -- --deny warnings
	@RUSTDOCFLAGS='--deny warnings' $(TIMED) 'documentation' $(CARGO) doc --workspace --no-deps --locked --quiet

portable: ## check that the model crates compile for Windows and macOS, as far as these targets can be installed
	@scripts/need linker
	@$(TIMED) 'the model crates for other systems' scripts/portable

audit: ## check the dependencies against the RustSec advisories, and run cargo-deny (needs the network)
	@scripts/need linker
	@scripts/cargo-deny check --hide-inclusion-graph

soak: ## run the tests with long counts, then every fuzz target for LONG_FUZZ_SECONDS
	@scripts/need linker c++ ip ethtool nft ping setpriv tshark prometheus promtool
	@scripts/venv
	@$(TIMED) 'programs of others' scripts/peers
	@PROPTEST_CASES=$(CASES) ROMER_SCHEDULES=$(SCHEDULES) ROMER_KILLS=$(KILLS) \
		ROMER_FUZZ_ROUNDS=$(FUZZ_ROUNDS) ROMER_FATES=$(FATES) $(TIMED) 'cargo test, long' $(CARGO) test --workspace --locked
	@$(TIMED) 'the coverage of the clocks'"'"' intervals' $(CARGO) run --release --locked --package romer-validation -- clock --plays $(PLAYS) --out validation/results/soak
	@$(CARGO) build --release --locked --package romer
	@$(TIMED) 'two hundred reservations' $(CARGO) run --release --locked --package romer-validation -- hold --hold $(HOLD_SECONDS) --out validation/results/soak
	@$(TIMED) 'fuzzing' scripts/fuzz $(LONG_FUZZ_SECONDS)
	@$(TIMED) 'the interface, by its description, long' scripts/api-fuzz $(LONG_API_CASES)

console: ## check that the console's page is built from its sources, and test its screens in a browser and its API
	@scripts/need linker ip curl
	@$(CARGO) build --locked --package romer
	$(browser)
	@$(MAKE) --no-print-directory page

schema: ## write docs/schema/*.json from the types
	@$(CARGO) xtask schema

manual: build ## write manual pages and shell completions to target/manual
	@$(TARGET)/release/romer manual $(TARGET)/manual

package: ## build deb, rpm and archive in target/package
	@scripts/package

python: build ## build the wheel of the Python package in target/python, and test it
	@$(TIMED) 'the Python package' scripts/python-wheel

reproduce: ## build the packages twice in different folders and compare them; as root, install, upgrade and remove them in fresh roots
	@$(TIMED) 'two builds of the packages' scripts/reproduce-package
	@[ "$$(id -u)" != 0 ] || $(TIMED) 'the packages in fresh roots' scripts/package-test

docs: ## build the documentation site in target/docs
	@scripts/venv docs
	@NO_MKDOCS_2_WARNING=1 .tools/venv-docs/bin/mkdocs build --quiet --strict
	@echo 'documentation: target/docs/index.html'
