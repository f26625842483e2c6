//! Commands mostly do not run as root: all tests of them again, as a user without any rights.

use super::harness::{HAFT, haft};

const WORDS: [&str; 20] = [
    "suite::attacks::",
    "suite::bad_commands::",
    "suite::cancel::",
    "suite::changes::",
    "suite::crash::",
    "suite::doctor::",
    "suite::exec::",
    "suite::flows::",
    "suite::interpreters::",
    "suite::interrupt::",
    "suite::jobs::",
    "suite::later_calls::",
    "suite::leftovers::",
    "suite::network::",
    "suite::odd_calls::",
    "suite::pty::",
    "suite::shells::",
    "suite::terminal::",
    "suite::terminals::",
    "suite::undo::",
];

#[test]
fn tests_pass_again_as_an_ordinary_user() {
    let said = haft_testkit::again_as_an_ordinary_user(&WORDS, &[(HAFT, &haft())]);
    println!("{}", said.unwrap_or_else(|said| panic!("{said}")));
}
