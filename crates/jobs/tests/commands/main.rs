//! Commands: their plans, their runs, and their life as jobs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test that cannot continue has failed, and says why")]

mod evaluated;
mod jobs;
mod planned;
mod running;
mod support;

#[test]
fn command_tests_pass_as_an_unprivileged_user() {
    println!("{}", haft_testkit::again_as_an_ordinary_user(&[], &[]).unwrap_or_else(|output| panic!("{output}")));
}
