# One target per thing a contributor does; cargo does the work.
# Cargo downloads the crates of Cargo.lock, never a toolchain. `check` needs a browser for the tests of the pages: where
# chromium and chromedriver are missing, `.ci/browser` says so and, as root on Debian, installs them with apt; elsewhere
# those tests are skipped with a notice (with CI=true they fail).
export RUSTUP_AUTO_INSTALL ?= 0

.PHONY: test format lint check python docs bench deny ship

test: format lint check docs python ## everything continuous integration checks

format:
	cargo fmt --all --check

lint:
	cargo clippy --release --workspace --exclude cgcmarl-python --all-targets -- -D warnings

check: ## all tests; see above for the browser they need
	.ci/browser
	cargo test --release --workspace --exclude cgcmarl-python

python: ## builds the Python package and tests it, where there is Python 3.10 or later
	.ci/python

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --exclude cgcmarl-python --no-deps

bench:
	cargo bench

deny: ## needs cargo-deny: cargo install cargo-deny
	cargo deny check bans licenses sources

ship: ## RUN=n3_1 MODEL=models/simple_spread_3: keeps of a run what its readers need, and every fifth line of its metrics
	mkdir -p $(MODEL)
	cp $(wildcard $(addprefix $(RUN)/,config.toml manifest.json README.md model.safetensors front.json front.csv front.png error_budget.json)) $(MODEL)
	awk 'NR % 5 == 0' $(RUN)/metrics.jsonl > $(MODEL)/metrics.jsonl
