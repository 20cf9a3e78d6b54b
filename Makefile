# One target per thing a contributor does; cargo does the work.
# An installed toolchain is enough: nothing is downloaded behind your back.
export RUSTUP_AUTO_INSTALL ?= 0

.PHONY: test format lint check docs bench deny ship

test: format lint check docs ## everything continuous integration checks

format:
	cargo fmt --all --check

lint:
	cargo clippy --release --workspace --all-targets -- -D warnings

check:
	.ci/browser
	cargo test --release --workspace

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps

bench:
	cargo bench

deny: ## needs cargo-deny: cargo install cargo-deny
	cargo deny check bans licenses sources

ship: ## RUN=n3_1 MODEL=models/simple_spread_3: keeps of a run what its readers need, and every fifth line of its metrics
	mkdir -p $(MODEL)
	cp $(wildcard $(addprefix $(RUN)/,config.toml manifest.json model.safetensors front.json front.csv front.png error_budget.json)) $(MODEL)
	awk 'NR % 5 == 0' $(RUN)/metrics.jsonl > $(MODEL)/metrics.jsonl
