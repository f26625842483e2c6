//! The same filter as a profile for container engines, which compile it themselves.
//!
//! Their default profile allows what ours refuses: new namespaces, tracing, key rings, Unix sockets in mounted folders, and
//! sockets to the host of a virtual machine.

use serde_json::{Value, json};

use super::{MODES, NAMESPACES, REFUSED, REFUSED_OF_THE_MACHINE, SET_USER, TERMINAL_REQUESTS};

/// The kernel reads these arguments as 32 bits.
const WHOLE: u64 = 0xffff_ffff;
/// The higher bits of a socket's type are flags.
const TYPE: u64 = 0xf;
/// More families than the kernel has.
const FAMILIES: i32 = 64;

/// A profile that refuses what the filter refuses. A container has no network, so only TCP to itself is left.
pub(crate) fn profile() -> Value {
    let names: Vec<&str> = REFUSED.iter().chain(REFUSED_OF_THE_MACHINE).map(|(name, _)| name.trim_start_matches("SYS_")).collect();
    let mut rules = vec![refuse(&names, libc::EPERM, &[]), refuse(&["clone3"], libc::ENOSYS, &[])];
    rules.extend(NAMESPACES.iter().map(|flag| bits("clone", 0, u64::from(flag.unsigned_abs()), u64::from(flag.unsigned_abs()))));
    rules.extend(TERMINAL_REQUESTS.iter().map(|request| bits("ioctl", 1, WHOLE, *request)));
    rules.extend(MODES.iter().map(|(call, _, argument)| bits(call, *argument, SET_USER, SET_USER)));
    let families = (0..FAMILIES).filter(|family| ![libc::AF_INET, libc::AF_INET6].contains(family));
    rules.extend(families.map(|family| bits("socket", 0, WHOLE, u64::from(family.unsigned_abs()))));
    let types = (0..=TYPE).filter(|kind| *kind != u64::from(libc::SOCK_STREAM.unsigned_abs()));
    rules.extend(types.map(|kind| bits("socket", 1, TYPE, kind)));
    let protocols = [libc::IPPROTO_SCTP, libc::IPPROTO_MPTCP];
    rules.extend(protocols.map(|protocol| bits("socket", 2, WHOLE, u64::from(protocol.unsigned_abs()))));
    // Foreign call tables are not listed, and so kill the process.
    json!({ "defaultAction": "SCMP_ACT_ALLOW", "architectures": [ARCHITECTURE], "syscalls": rules })
}

#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: &str = "SCMP_ARCH_AARCH64";
#[cfg(not(target_arch = "aarch64"))]
const ARCHITECTURE: &str = "SCMP_ARCH_X86_64";

/// Refuses a call if these bits of one of its arguments have this value.
fn bits(call: &str, argument: u8, mask: u64, value: u64) -> Value {
    refuse(&[call], libc::EPERM, &[json!({ "index": argument, "op": "SCMP_CMP_MASKED_EQ", "value": mask, "valueTwo": value })])
}

fn refuse(names: &[&str], error: i32, arguments: &[Value]) -> Value {
    json!({ "names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": arguments })
}
