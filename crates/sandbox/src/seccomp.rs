//! The filter on system calls: beneath the namespaces, so that a flaw of one wall is not a way out.
//!
//! Unix sockets are refused altogether, since the sandbox sees the host's file system and with it every socket that has a
//! name there. `socketpair` stays: both of its ends are inside.

mod profile;

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, sock_filter,
};
use serde::{Deserialize, Serialize};

pub(crate) use profile::profile;

/// Calls with their names, which engines of containers want to be told.
macro_rules! calls {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), libc::$name)),*] };
}

/// Which sockets a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sockets {
    /// None but pairs.
    None,
    /// TCP: where a namespace leaves nothing to reach but the sandbox itself.
    Tcp,
    /// TCP and UDP.
    TcpAndUdp,
    /// TCP and Unix sockets: for our own relay alone.
    Relay,
}

/// Refused whatever their arguments are.
const REFUSED: &[(&str, i64)] = calls![
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_perf_event_open,
    SYS_fanotify_init,
    SYS_open_by_handle_at,
    SYS_mount,
    SYS_umount2,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_lookup_dcookie,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_syslog,
    SYS_vhangup,
    SYS_nfsservctl,
];
#[cfg(target_arch = "x86_64")]
const REFUSED_OF_THE_MACHINE: &[(&str, i64)] = calls![SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OF_THE_MACHINE: &[(&str, i64)] = &[];

/// A new namespace of any kind would give back the rights that were taken.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// Both type into a terminal as if the person did.
const TERMINAL_REQUESTS: &[u64] = &[libc::TIOCSTI, 0x541c];

/// Installs the filter for this process and all that it starts.
///
/// # Errors
/// Says which part the kernel or the compiler of filters refused.
pub(crate) fn install(sockets: Sockets) -> Result<(), String> {
    let program = program(sockets).map_err(|error| format!("cannot build the filter on system calls: {error}"))?;
    seccompiler::apply_filter(&program).map_err(|error| format!("cannot install the filter on system calls: {error}"))
}

/// One program, since each costs time at every call. A compiled filter knows one answer only: the others come before it.
fn program(sockets: Sockets) -> Result<BpfProgram, BackendError> {
    let machine = std::env::consts::ARCH.try_into()?;
    let answer = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let refused: BpfProgram = SeccompFilter::new(refused(sockets)?, SeccompAction::Allow, answer, machine)?.try_into()?;
    Ok(prologue().into_iter().chain(refused).collect())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn refused(sockets: Sockets) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().chain(REFUSED_OF_THE_MACHINE).map(|(_, call)| (*call, Vec::new())).collect();
    let new_namespace = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        SeccompRule::new(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    });
    rules.insert(libc::SYS_clone, new_namespace.collect::<Result<_, _>>()?);
    let typing = TERMINAL_REQUESTS.iter().map(|request| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, *request)?]));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_socket, unwanted(sockets)?);
    Ok(rules)
}

/// The rules match what is refused, so they say it the other way round: no allowed family, or type, or protocol.
fn unwanted(sockets: Sockets) -> Result<Vec<SeccompRule>, BackendError> {
    let (families, types, protocols): (&[i32], &[i32], &[i32]) = match sockets {
        Sockets::None => return Ok(Vec::new()),
        Sockets::Tcp => (&[libc::AF_INET, libc::AF_INET6], &[libc::SOCK_STREAM], &[0, libc::IPPROTO_TCP]),
        Sockets::TcpAndUdp => {
            (&[libc::AF_INET, libc::AF_INET6], &[libc::SOCK_STREAM, libc::SOCK_DGRAM], &[0, libc::IPPROTO_TCP, libc::IPPROTO_UDP])
        }
        Sockets::Relay => (&[libc::AF_INET, libc::AF_UNIX], &[libc::SOCK_STREAM], &[0, libc::IPPROTO_TCP]),
    };
    let mut rules = vec![none_of(0, families)?, none_of(2, protocols)?];
    for kind in (0..16).filter(|kind| !types.contains(kind)) {
        // The higher bits are flags: close on exec, do not block.
        rules.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(0xf), u64::from(kind.unsigned_abs()))?])?);
    }
    Ok(rules)
}

fn none_of(argument: u8, values: &[i32]) -> Result<SeccompRule, BackendError> {
    let conditions = values.iter().map(|value| condition(argument, SeccompCmpOp::Ne, u64::from(value.unsigned_abs())));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// The kernel takes these arguments as 32 bits, so the filter must not look at more.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// What the compiler of filters cannot say.
///
/// The calls of x32 come under the name of x86-64, with a bit set in their number: the process is killed. (Other foreign
/// tables, such as i386, have a name of their own, for which every compiled filter kills.) The arguments of `clone3` lie in
/// memory, where no filter sees them: it is said not to exist, and C libraries fall back to `clone`.
fn prologue() -> Vec<sock_filter> {
    const LOAD_NUMBER: u16 = 0x20;
    const SKIP_UNLESS_EQUAL: u16 = 0x15;
    const SKIP_UNLESS_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let step = |code, k| sock_filter { code, jt: 0, jf: u8::from(matches!(code, SKIP_UNLESS_EQUAL | SKIP_UNLESS_AT_LEAST)), k };
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    let mut steps = vec![step(LOAD_NUMBER, 0), step(SKIP_UNLESS_EQUAL, clone3)];
    steps.push(step(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()));
    if cfg!(target_arch = "x86_64") {
        steps.extend([step(SKIP_UNLESS_AT_LEAST, X32), step(RETURN, libc::SECCOMP_RET_KILL_PROCESS)]);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_sockets_has_a_filter_the_kernel_can_take() {
        for sockets in [Sockets::None, Sockets::Tcp, Sockets::TcpAndUdp, Sockets::Relay] {
            let length = program(sockets).unwrap().len();
            assert!((100..4096).contains(&length), "{sockets:?}: {length}");
        }
    }
}
