# Shortcuts; `./check` is the one command that decides.

# Everything that CI runs
check:
    ./check

# Format every tracked file, also modules that a macro declares
fmt:
    git ls-files '*.rs' ':!crates/macros/tests/fail' | xargs rustfmt --edition 2024

# Benchmarks; each prints a ratio against a reference in the same run
bench:
    cargo bench

# The figures of docs/internal/FIGURES.md; `--build` measures a cold release build as well (minutes), `--speed` the budgets of speed, twice
figures *arguments:
    tools/figures {{arguments}}

# Accept changed golden files after looking at them
golden:
    INSTA_UPDATE=always cargo test --workspace --features pdf,postgres

# The crate `haft` with each of its features alone
features:
    tools/each-feature

# The public API of the library's crates against the last tag, or a revision (needs cargo-semver-checks)
semver *revision:
    tools/semver {{revision}}

# The same tool behind Haft, rmcp's router and rig, in one process; a crate of its own, so that nothing else builds rig
peers:
    cargo run --release --manifest-path benches/peers/Cargo.toml
