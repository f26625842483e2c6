//! The macros: what they make, compared whole, and what they say to somebody who got it wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "macros/pass/derived.rs"]
mod derived;
#[path = "macros/pass/function.rs"]
mod function;
#[path = "macros/pass/planned.rs"]
mod planned;
#[path = "macros/pass/variants.rs"]
mod variants;

/// After a change that is meant, `TRYBUILD=overwrite cargo test --test macros` writes the messages anew.
#[test]
fn misuse_is_explained() {
    trybuild::TestCases::new().compile_fail("tests/macros/fail/*.rs");
}
