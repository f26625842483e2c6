//! Attacks in two commands: the first one leaves something that looks harmless, the second one makes use of it.

use std::sync::Mutex;

use super::super::effects::{on_threads, run_line, run_unsandboxed};
use super::{Start, as_script, fill, marker_appeared, start, user_works};
use Start::Files;

/// Name, both commands, and the folder in which the user works afterwards.
type Pair = (&'static str, &'static str, &'static str, &'static str);

const ADDS: &str = "printf '[core]\\n\\tfsmonitor = \"@RUN@\"\\n' >> plain";

#[rustfmt::skip] // one attack a line
const PAIRS: &[Pair] = &[
    ("settings with a second name", "git init -q new; ln new/.git/config plain", ADDS, "new"),
    ("settings of a clone with a second name", "git init -q one; git -C one commit -q --allow-empty -m x; git clone -q one new; ln new/.git/config plain", ADDS, "new"),
    ("settings of a bare repository with a second name", "git init -q --bare new; git --git-dir new config core.bare false; git --git-dir new config core.worktree ..; ln new/config plain", ADDS, "new"),
    ("settings of a submodule with a second name", "git init -q one; git -C one commit -q --allow-empty -m x; git init -q new; git -C new -c protocol.file.allow=always submodule --quiet add $PWD/one sub; ln new/.git/modules/sub/config plain", ADDS, "new/sub"),
    ("second name first", "git init -q new; mv new/.git/config plain; ln plain new/.git/config", ADDS, "new"),
    ("sample of a hook with a second name", "git init -q new; echo '#!/bin/sh' > new/.git/hooks/pre-commit.sample; chmod +x new/.git/hooks/pre-commit.sample; ln new/.git/hooks/pre-commit.sample plain", "echo '@RUN@' >> plain; mv new/.git/hooks/pre-commit.sample new/.git/hooks/pre-commit", "new"),
    ("repository with a plain name first", "git init -q new; mv new/.git new/plain; git config -f new/plain/config core.fsmonitor '@RUN@'", "mv new/plain new/.git", "new"),
    ("repository without a part first", "git init -q new; mv new/.git new/plain; mv new/plain/HEAD new/H; git config -f new/plain/config core.fsmonitor '@RUN@'", "mv new/H new/plain/HEAD; mv new/plain new/.git", "new"),
    ("settings linked in later", "git init -q new; cp new/.git/config plain; git config -f plain core.fsmonitor '@RUN@'", "rm new/.git/config; ln plain new/.git/config", "new"),
];

fn failures(run: impl Fn(&super::Scene, &str) -> String + Sync) -> Vec<String> {
    let wrong = Mutex::new(Vec::new());
    on_threads(3, PAIRS, |(name, first, second, folder)| {
        let scene = start(Files);
        let briefs = [first, second].map(|line| run(&scene, &fill(&scene, line)));
        user_works(&scene, folder, "");
        if marker_appeared(&scene) {
            wrong.lock().unwrap().push(format!("{name}: {}", briefs.join("\n    ")));
        }
    });
    wrong.into_inner().unwrap()
}

#[test]
fn after_an_attack_in_two_commands_the_users_git_runs_no_foreign_code() {
    let wrong = failures(|scene, line| run_line(scene, &as_script(scene, line)).brief());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn attacks_in_two_commands_are_real() {
    let ran = failures(|scene, line| format!("{:?}", run_unsandboxed(scene, line).status));
    assert_eq!(ran.len(), PAIRS.len(), "{ran:?}");
}
