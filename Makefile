# One target per thing a contributor does; cargo does the work.
# An installed toolchain is enough: nothing is downloaded behind your back.
export RUSTUP_AUTO_INSTALL ?= 0

.PHONY: test format lint check docs bench deny

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
