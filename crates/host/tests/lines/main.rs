//! Lines of shell: what they are planned as, and what becomes of them when they run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test that cannot go on has failed, and says why")]

mod jobs;
mod planned;
mod running;
mod support;

#[test]
fn the_same_as_an_ordinary_person() {
    println!("{}", haft_testkit::again_as_an_ordinary_person(&[], &[]).unwrap_or_else(|said| panic!("{said}")));
}
