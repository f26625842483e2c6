//! What a start costs in system calls and waits for the disk. Times differ from machine to machine; these numbers do not, so they are
//! golden: more is a regression, fewer a reason to lower them.

use std::path::Path;

use super::harness::World;

/// Of `haft call noop` where all folders are there, by a build without optimisation.
const GOLDEN_CALL: usize = 256;
/// The C library asks for memory, and a lock that is free sooner is waited for less often.
const GIVE_OR_TAKE: usize = 8;

#[test]
fn one_call_makes_the_system_calls_of_the_golden_number_and_waits_for_the_disk_once() {
    let world = World::new();
    if world.program("true").get_envs().any(|(name, _)| name == "HAFT_STORE") {
        return;
    }
    for _ in 0..2 {
        assert_eq!(world.run(&["call", "noop"]).code, 0);
    }
    let trace = world.path("trace");
    let shape = world.command(&["call", "noop"]);
    let mut strace = world.program("strace");
    strace.args(["-f", "-qq", "-o"]).arg(&trace).arg(shape.get_program()).args(shape.get_args());
    let ran = world.ran(&strace.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "noop executed with 0 params\n"), "{ran:?}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let calls: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(' ')?.1.trim_start())).collect();
    let syncs = calls.iter().filter(|call| call.starts_with("fsync(") || call.starts_with("fdatasync(")).count();
    assert_eq!(syncs, 1, "waits for the disk:\n{text}");
    let own: Vec<&&str> = calls.iter().filter(|call| is_own(call, &world.path(""))).collect();
    let counted = own.len();
    assert!(counted <= GOLDEN_CALL + GIVE_OR_TAKE, "{counted} system calls, and there were {GOLDEN_CALL}:\n{own:#?}");
    assert!(counted + GIVE_OR_TAKE >= GOLDEN_CALL, "{counted} system calls: lower the golden number, {GOLDEN_CALL}");
}

/// Whether a call counts on every machine: not one about a folder above the world, of which there are more or fewer, nor the search for a
/// program, nor one of the heap, the scheduler, or the checks of a build for tests.
fn is_own(call: &str, world: &Path) -> bool {
    let is_shared = |name: &&str| call.starts_with(name);
    let shared = ["<... ", "+++ ", "--- ", "futex(", "epoll_wait(", "sched_", "madvise(", "mmap(", "munmap(", "mprotect(", "brk("];
    let is_above =
        |folder: &Path| call.contains(&format!("(\"{}\"", folder.display())) || call.contains(&format!(" \"{}\"", folder.display()));
    let is_above = world.ancestors().skip(1).any(is_above) || world.ancestors().any(|folder| is_above(&folder.join(".git")));
    !(shared.iter().any(is_shared) || is_above || call.contains("F_GETFD") || call.contains("/espeak-ng"))
}
