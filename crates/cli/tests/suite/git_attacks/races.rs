//! A job that swaps folders for links, while other commands are set up, their changes are applied, and what is new is looked through.

use std::fs;

use super::super::effects::{CANARY, reveals, run_line, user_git_text};
use super::{Running, Start, start};

/// Two new repositories at a time: one has a link in place of its `.git`, the other in place of its folder. Both lead outside.
const SWAP: &str = r"
import ctypes, os, shutil, time
swap = ctypes.CDLL(None).renameat2
os.system('git init -q /tmp/template; rm -rf /tmp/template/.git/hooks')
for n in range(10000):
    one, two, link = f'y{n}', f'z{n}', f'l{n}'
    for folder in (one, two):
        shutil.copytree('/tmp/template/.git', folder + '/.git')
    os.symlink('@OUTSIDE@/.git', one + '/link')
    os.symlink('@OUTSIDE@', link)
    pairs = [(one + '/.git', one + '/link'), (two, link)]
    end = time.time() + 1.5
    while time.time() < end:
        for _ in range(100):
            for a, b in pairs:
                swap(-100, a.encode(), -100, b.encode(), 2)
    for path in (one, two, link):
        os.unlink(path) if os.path.islink(path) else shutil.rmtree(path, ignore_errors=True)
";
const COMMANDS: usize = 12;

#[test]
fn links_that_a_job_swaps_lead_nowhere() {
    let scene = start(Start::Repository);
    let other = scene.path("outside/other");
    fs::create_dir_all(&other).unwrap();
    let folder = other.display().to_string();
    for words in [&["-C", &folder, "init", "-q"][..], &["-C", &folder, "config", "alias.st", "status"]] {
        user_git_text(&scene, "", words);
    }
    fs::write(other.join(".git/hooks/pre-commit"), "of the user").unwrap();
    fs::write(other.join(".git/secret.txt"), CANARY).unwrap();
    scene.write("swap.py", SWAP.replace("@OUTSIDE@", &folder));
    let before = scene.untouched();
    let running = Running::start(&scene, "python3 swap.py &").unwrap_or_else(|result| panic!("{}", result.brief()));
    let line = "for d in y* z* l*; do cat $d/.git/secret.txt $d/link/secret.txt; git -C $d commit -q --allow-empty -m evil; done 2>/dev/null; true";
    for _ in 0..COMMANDS {
        // One that is not run, because a link is in its way, has no effect either.
        let result = run_line(&scene, line);
        assert!(!reveals(result.value.to_string().as_bytes(), CANARY), "{}", result.brief());
    }
    drop(running);
    assert!(scene.untouched() == before, "the repository of the user changed");
}
