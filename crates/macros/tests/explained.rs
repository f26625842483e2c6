//! What the macros say to somebody who got it wrong. Here and not in the facade, so that only the contract is built for it.

/// After a change that is meant, `TRYBUILD=overwrite cargo test -p haft-macros` writes the messages anew.
#[test]
fn misuse_is_explained() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}
