//! A search tree before the compiled filter, which compares one call after the other. The kernel runs a new filter for every call
//! that it knows, to remember those that are always allowed: with the tree that takes a tenth of the time.

use seccompiler::sock_filter;

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
/// Offsets of what a filter can load.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// As the kernel names it; `None` where it is not known, and the filter has to do without the tree.
const fn architecture() -> Option<u32> {
    if cfg!(target_arch = "x86_64") {
        Some(0xc000_003e)
    } else if cfg!(target_arch = "aarch64") {
        Some(0xc000_00b7)
    } else {
        None
    }
}

/// Allows every call of this architecture but these, which are left to the filter behind it, as all of other architectures are.
/// The numbers must be sorted.
pub(super) fn allow_all_but(calls: &[u32]) -> Vec<sock_filter> {
    let (Some(architecture), Some(tree)) = (architecture(), tree(calls)) else { return Vec::new() };
    let Ok(length) = u32::try_from(tree.len()) else { return Vec::new() };
    let mut steps = vec![step(LOAD, ARCHITECTURE), branch(IF_EQUAL, architecture, 1, 0), step(JUMP, length + 1), step(LOAD, NUMBER)];
    steps.extend(tree);
    steps
}

/// Ends before the step behind it for these numbers, and returns for all others; `None` if there are too many.
fn tree(calls: &[u32]) -> Option<Vec<sock_filter>> {
    let mut steps = search(calls)?;
    // What is listed jumps to the end, whose distance is known now.
    let end = steps.len();
    for (at, step) in steps.iter_mut().enumerate().filter(|(_, step)| step.code == JUMP) {
        step.k = u32::try_from(end - at - 1).ok()?;
    }
    Some(steps)
}

fn search(calls: &[u32]) -> Option<Vec<sock_filter>> {
    let (left, right) = calls.split_at(calls.len() / 2);
    match (left, right) {
        (_, []) => Some(vec![step(RETURN, libc::SECCOMP_RET_ALLOW)]),
        ([], [call, ..]) => Some(vec![branch(IF_EQUAL, *call, 1, 0), step(RETURN, libc::SECCOMP_RET_ALLOW), step(JUMP, 0)]),
        (_, [first, ..]) => {
            let left = search(left)?;
            let mut steps = vec![branch(IF_AT_LEAST, *first, u8::try_from(left.len()).ok()?, 0)];
            steps.extend(left);
            steps.extend(search(right)?);
            Some(steps)
        }
    }
}

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn branch(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
