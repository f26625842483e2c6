//! Memory on real files and a real index.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "scores are printed")]

mod suite {
    mod attacks;
    mod bad_files;
    mod changes;
    mod conversations;
    mod embedding;
    mod index;
    mod questions;
    mod scored;
    mod writers;

    mod world;
}
