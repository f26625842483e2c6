//! Memory on real files and a real index.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod suite {
    mod bad_files;
    mod embedding;
    mod index;
    mod questions;
    mod writers;

    mod world;
}
