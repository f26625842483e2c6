//! The system call filter: a second layer beneath the namespaces, so that a flaw in one is no escape.
//!
//! Sockets of a command are those that reach nothing but the sandbox itself: its network namespace has no interface but the loopback,
//! and the sockets of other programs are not in its view. Everywhere else Unix sockets are refused; `socketpair` is allowed, for both
//! of its ends are inside.

mod notification;
mod profile;
mod shortcut;

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, sock_filter,
};
use serde::{Deserialize, Serialize};

pub(crate) use notification::{CallAnswer, CallListener, ListenedCall, WaitingCall};
pub(crate) use profile::profile;

/// System calls with their names, which the profiles of container engines need.
macro_rules! calls {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), libc::$name)),*] };
}

/// Which sockets a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sockets {
    /// None but pairs.
    None,
    /// TCP: for a network namespace, where only the sandbox itself can be reached.
    Tcp,
    /// What programs use among themselves: TCP, UDP, Unix sockets, and questions about interfaces. For a network namespace in which
    /// only the sandbox itself can be reached, and a view without sockets of others.
    Inside,
    /// TCP and UDP.
    TcpAndUdp,
    /// TCP and Unix sockets: for a program that sees no file of the user, and so no socket of another program.
    TcpAndUnix,
    /// TCP and Unix sockets: for the relay only.
    Relay,
}

/// Whom a command may trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tracing {
    Nobody,
    /// The processes of its own PID namespace, as debuggers and leak checkers do: they have the same rights and filter, and those of
    /// ours that have more are not dumpable.
    OwnNamespace,
}

/// Refused with any arguments.
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

/// A new namespace of any kind would restore dropped privileges.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// Both inject input into a terminal as if the user typed it.
const TERMINAL_REQUESTS: &[u64] = &[libc::TIOCSTI, 0x541c];

/// Calls that set a mode, and which argument it is. The mode of `openat2` is in memory, but what is created with it is empty, and loses
/// the bit when it is written.
#[cfg(target_arch = "x86_64")]
const MODES: &[(&str, i64, u8)] = &[
    ("chmod", libc::SYS_chmod, 1),
    ("fchmod", libc::SYS_fchmod, 1),
    ("fchmodat", libc::SYS_fchmodat, 2),
    ("fchmodat2", FCHMODAT2, 2),
    ("mknod", libc::SYS_mknod, 1),
    ("mknodat", libc::SYS_mknodat, 2),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES: &[(&str, i64, u8)] =
    &[("fchmod", libc::SYS_fchmod, 1), ("fchmodat", libc::SYS_fchmodat, 2), ("fchmodat2", FCHMODAT2, 2), ("mknodat", libc::SYS_mknodat, 2)];
/// The same on every machine.
const FCHMODAT2: i64 = 452;
/// A program that runs as its owner would stay after the sandbox, for other users of the machine.
const SET_USER: u64 = 0o4000;

/// Installs the filter for this process and its children.
///
/// # Errors
/// The filter cannot be compiled or installed.
pub(crate) fn install(sockets: Sockets, tracing: Tracing) -> Result<(), String> {
    let program = program(sockets, tracing).map_err(|error| format!("cannot compile the system call filter: {error}"))?;
    seccompiler::apply_filter(&program).map_err(|error| format!("cannot install the system call filter: {error}"))
}

/// One program, because each costs time at every call. A compiled filter has one action only: the others are in the prologue.
fn program(sockets: Sockets, tracing: Tracing) -> Result<BpfProgram, BackendError> {
    let machine = std::env::consts::ARCH.try_into()?;
    let answer = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = refused(sockets, tracing)?;
    // Sorted, because the rules are.
    let calls: Vec<u32> = rules.keys().filter_map(|call| u32::try_from(*call).ok()).collect();
    let refused: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, answer, machine)?.try_into()?;
    Ok(prologue().into_iter().chain(shortcut::allow_all_but(&calls)).chain(refused).collect())
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

fn refused(sockets: Sockets, tracing: Tracing) -> Result<SeccompRules, BackendError> {
    let mut rules: SeccompRules = REFUSED.iter().chain(REFUSED_OF_THE_MACHINE).map(|(_, call)| (*call, Vec::new())).collect();
    if tracing == Tracing::OwnNamespace {
        rules.remove(&libc::SYS_ptrace);
    }
    let new_namespace = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        SeccompRule::new(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    });
    rules.insert(libc::SYS_clone, new_namespace.collect::<Result<_, _>>()?);
    let typing = TERMINAL_REQUESTS.iter().map(|request| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, *request)?]));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    for (_, call, argument) in MODES {
        rules.insert(*call, vec![SeccompRule::new(vec![condition(*argument, SeccompCmpOp::MaskedEq(SET_USER), SET_USER)?])?]);
    }
    rules.insert(libc::SYS_socket, socket_rules(sockets)?);
    // Both ends of a pair are inside; other families than this would only load a driver.
    rules.insert(libc::SYS_socketpair, vec![none_of(0, &[libc::AF_UNIX])?]);
    Ok(rules)
}

/// The rules match refused calls: no allowed family, or type, or protocol.
fn socket_rules(sockets: Sockets) -> Result<Vec<SeccompRule>, BackendError> {
    let (families, types, protocols): (&[i32], &[i32], &[i32]) = match sockets {
        Sockets::None => return Ok(Vec::new()),
        Sockets::Tcp => (&[libc::AF_INET, libc::AF_INET6], &[libc::SOCK_STREAM], &[0, libc::IPPROTO_TCP]),
        Sockets::Inside => (
            &[libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK],
            &[libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET],
            &[0, libc::IPPROTO_TCP, libc::IPPROTO_UDP],
        ),
        Sockets::TcpAndUdp => {
            (&[libc::AF_INET, libc::AF_INET6], &[libc::SOCK_STREAM, libc::SOCK_DGRAM], &[0, libc::IPPROTO_TCP, libc::IPPROTO_UDP])
        }
        Sockets::TcpAndUnix => (&[libc::AF_INET, libc::AF_INET6, libc::AF_UNIX], &[libc::SOCK_STREAM], &[0, libc::IPPROTO_TCP]),
        Sockets::Relay => (&[libc::AF_INET, libc::AF_UNIX], &[libc::SOCK_STREAM], &[0, libc::IPPROTO_TCP]),
    };
    let mut rules = vec![none_of(0, families)?, none_of(2, protocols)?];
    for kind in (0..16).filter(|kind| !types.contains(kind)) {
        rules.push(SeccompRule::new(vec![is_type(kind)?])?);
    }
    if sockets == Sockets::Inside {
        let is_no = |family: i32| condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()));
        let is_netlink = condition(0, SeccompCmpOp::Eq, u64::from(libc::AF_NETLINK.unsigned_abs()))?;
        let asks_no_routes = condition(2, SeccompCmpOp::Ne, u64::from(libc::NETLINK_ROUTE.unsigned_abs()))?;
        rules.push(SeccompRule::new(vec![is_type(libc::SOCK_RAW)?, is_no(libc::AF_NETLINK)?])?);
        rules.push(SeccompRule::new(vec![is_type(libc::SOCK_SEQPACKET)?, is_no(libc::AF_UNIX)?])?);
        rules.push(SeccompRule::new(vec![is_netlink, asks_no_routes])?);
    }
    Ok(rules)
}

/// The higher bits are flags: close on exec, do not block.
fn is_type(kind: i32) -> Result<SeccompCondition, BackendError> {
    condition(1, SeccompCmpOp::MaskedEq(0xf), u64::from(kind.unsigned_abs()))
}

fn none_of(argument: u8, values: &[i32]) -> Result<SeccompRule, BackendError> {
    let conditions = values.iter().map(|value| condition(argument, SeccompCmpOp::Ne, u64::from(value.unsigned_abs())));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// The kernel reads these arguments as 32 bits, so the filter must not compare more.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// What the filter compiler cannot express.
///
/// x32 calls have the architecture of x86-64, with a bit set in their number: the process is killed. (Other foreign tables, such
/// as i386, have an architecture of their own, for which every compiled filter kills.) The arguments of `clone3` are in memory,
/// where no filter sees them: it returns `ENOSYS`, and C libraries fall back to `clone`.
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

    const ALL: [Sockets; 6] = [Sockets::None, Sockets::Tcp, Sockets::Inside, Sockets::TcpAndUdp, Sockets::TcpAndUnix, Sockets::Relay];

    #[test]
    fn filter_of_every_socket_kind_fits_the_kernel() {
        for sockets in ALL {
            let length = program(sockets, Tracing::Nobody).unwrap().len();
            assert!((100..4096).contains(&length), "{sockets:?}: {length}");
        }
    }

    /// What a filter returns for a call, and after how many steps.
    fn run(program: &[sock_filter], number: u32, architecture: u32, arguments: [u64; 3]) -> (u32, usize) {
        let load = |offset: u32| match offset {
            0 => number,
            4 => architecture,
            16.. => {
                let argument = arguments[(offset as usize - 16) / 8];
                u32::try_from(if offset.is_multiple_of(8) { argument & 0xffff_ffff } else { argument >> 32 }).unwrap()
            }
            _ => panic!("offset {offset}"),
        };
        let (mut at, mut register, mut steps) = (0, 0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            (at, steps) = (at + 1, steps + 1);
            let skip = |holds: bool| usize::from(if holds { jt } else { jf });
            match code {
                0x20 => register = load(k),
                0x54 => register &= k,
                0x05 => at += k as usize,
                0x15 => at += skip(register == k),
                0x25 => at += skip(register > k),
                0x35 => at += skip(register >= k),
                0x06 => return (k, steps),
                _ => panic!("code {code:#x}"),
            }
        }
    }

    const NATIVE: u32 = if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };

    #[test]
    fn sockets_inside_are_those_of_programs_among_themselves() {
        let number = u32::try_from(libc::SYS_socket).unwrap();
        let is_allowed = |arguments: [i32; 3]| {
            let arguments = arguments.map(|value| u64::from(value.unsigned_abs()));
            run(&program(Sockets::Inside, Tracing::Nobody).unwrap(), number, NATIVE, arguments).0 == libc::SECCOMP_RET_ALLOW
        };
        let (stream, datagram, raw, packets) = (libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET);
        let cases = [
            ([libc::AF_INET, stream | libc::SOCK_CLOEXEC, libc::IPPROTO_TCP], true),
            ([libc::AF_INET6, datagram, libc::IPPROTO_UDP], true),
            ([libc::AF_UNIX, stream, 0], true),
            ([libc::AF_UNIX, packets, 0], true),
            ([libc::AF_NETLINK, raw | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE], true),
            ([libc::AF_NETLINK, raw, libc::NETLINK_KOBJECT_UEVENT], false),
            ([libc::AF_NETLINK, datagram, libc::NETLINK_NETFILTER], false),
            ([libc::AF_NETLINK, raw, libc::IPPROTO_TCP], false),
            ([libc::AF_INET, raw, 0], false),
            ([libc::AF_INET6, raw | libc::SOCK_NONBLOCK, libc::IPPROTO_TCP], false),
            ([libc::AF_INET, packets, 0], false),
            ([libc::AF_INET, datagram, libc::IPPROTO_ICMP], false),
            ([libc::AF_INET, stream, libc::IPPROTO_SCTP], false),
            ([libc::AF_PACKET, raw, 0], false),
            ([libc::AF_VSOCK, stream, 0], false),
            ([libc::AF_ALG, packets, 0], false),
        ];
        for (arguments, allowed) in cases {
            assert_eq!(is_allowed(arguments), allowed, "{arguments:?}");
        }
    }

    #[test]
    fn no_program_that_runs_as_its_owner_is_made() {
        let program = program(Sockets::Inside, Tracing::Nobody).unwrap();
        for (name, call, argument) in MODES {
            for (mode, allowed) in [(0o755, true), (0o2755, true), (0o1777, true), (0o4755, false), (0o6000, false)] {
                let mut arguments = [0o4000; 3];
                arguments[usize::from(*argument)] = mode;
                let answer = run(&program, u32::try_from(*call).unwrap(), NATIVE, arguments).0;
                assert_eq!(answer == libc::SECCOMP_RET_ALLOW, allowed, "{name} {mode:o}");
            }
        }
    }

    #[test]
    fn pairs_of_sockets_are_unix_sockets() {
        let number = u32::try_from(libc::SYS_socketpair).unwrap();
        for sockets in ALL {
            for (family, allowed) in [(libc::AF_UNIX, true), (libc::AF_TIPC, false), (libc::AF_INET, false)] {
                let program = program(sockets, Tracing::Nobody).unwrap();
                let answer = run(&program, number, NATIVE, [u64::from(family.unsigned_abs()), 1, 0]).0;
                assert_eq!(answer == libc::SECCOMP_RET_ALLOW, allowed, "{sockets:?} {family}");
            }
        }
    }

    #[test]
    fn tracing_is_allowed_where_it_was_asked_for_alone() {
        let number = u32::try_from(libc::SYS_ptrace).unwrap();
        for (tracing, allowed) in [(Tracing::Nobody, false), (Tracing::OwnNamespace, true)] {
            let program = program(Sockets::Inside, tracing).unwrap();
            assert_eq!(run(&program, number, NATIVE, [0; 3]).0 == libc::SECCOMP_RET_ALLOW, allowed, "{tracing:?}");
        }
    }

    #[test]
    fn shortcut_changes_no_answer_and_takes_few_steps() {
        let arguments = [[0; 3], [2, 1, 0], [1, 1, 0], [10, 0x8_0001, 6], [0x1000_0000, 0x5412, 0], [0x11, 0x5401, 17], [u64::MAX; 3]];
        for sockets in ALL {
            let whole = program(sockets, Tracing::Nobody).unwrap();
            let calls: Vec<u32> = refused(sockets, Tracing::Nobody).unwrap().keys().map(|call| u32::try_from(*call).unwrap()).collect();
            let length = shortcut::allow_all_but(&calls).len();
            let before = prologue().len();
            let plain: Vec<_> = whole[..before].iter().chain(&whole[before + length..]).cloned().collect();
            assert!(length > calls.len(), "there is a shortcut");
            for number in (0..1000).chain([0x4000_0000, 0x4000_0065, u32::MAX]) {
                for architecture in [NATIVE, 0x4000_0003, 0x4000_0028, 0] {
                    for arguments in arguments {
                        let (answer, steps) = run(&whole, number, architecture, arguments);
                        assert_eq!(answer, run(&plain, number, architecture, arguments).0, "{number} {architecture:#x} {arguments:?}");
                        let is_listed = calls.contains(&number) || architecture != NATIVE;
                        assert!(is_listed || steps < 25, "{number}: {steps} steps");
                    }
                }
            }
            assert_eq!(run(&whole, 101, NATIVE, [0; 3]).0 == libc::SECCOMP_RET_ALLOW, libc::SYS_ptrace != 101);
        }
    }
}
