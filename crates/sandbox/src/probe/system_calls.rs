//! System calls that help to escape from a sandbox or attack the kernel, each made for real.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::elf;

const NEW_USER: u64 = 0x1000_0000;
const X32: i64 = 0x4000_0000;
const INET: u64 = 2;
const STREAM: u64 = 1;
const DATAGRAM: u64 = 2;
const RAW: u64 = 3;
const PACKETS: u64 = 5;

type SystemCall = (&'static str, i64, [u64; 3]);

/// With arguments for which the kernel mostly returns another error than a missing permission.
const CALLS: &[SystemCall] = &[
    ("kcmp", libc::SYS_kcmp, [1, 1, 0]),
    ("process_vm_readv", libc::SYS_process_vm_readv, [1, 0, 0]),
    ("process_vm_writev", libc::SYS_process_vm_writev, [1, 0, 0]),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, [99, 0, 0]),
    ("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0]),
    ("io_uring_enter", libc::SYS_io_uring_enter, [99, 0, 0]),
    ("keyctl", libc::SYS_keyctl, [0, 0, 0]),
    ("add_key", libc::SYS_add_key, [0, 0, 0]),
    ("request_key", libc::SYS_request_key, [0, 0, 0]),
    ("bpf", libc::SYS_bpf, [0, 0, 0]),
    ("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0]),
    ("perf_event_open", libc::SYS_perf_event_open, [0, 0, 0]),
    ("mount", libc::SYS_mount, [0, 0, 0]),
    ("umount2", libc::SYS_umount2, [0, 0, 0]),
    ("open_tree", libc::SYS_open_tree, [99, 0, 0]),
    ("move_mount", libc::SYS_move_mount, [99, 0, 99]),
    ("fsopen", libc::SYS_fsopen, [0, 0, 0]),
    ("mount_setattr", libc::SYS_mount_setattr, [99, 0, 0]),
    ("pivot_root", libc::SYS_pivot_root, [0, 0, 0]),
    ("chroot", libc::SYS_chroot, [0, 0, 0]),
    ("unshare", libc::SYS_unshare, [NEW_USER, 0, 0]),
    ("setns", libc::SYS_setns, [99, 0, 0]),
    ("clone_namespace", libc::SYS_clone, [NEW_USER + 17, 0, 0]),
    ("clone3", libc::SYS_clone3, [0, 0, 0]),
    ("kexec_load", libc::SYS_kexec_load, [0, 0, 0]),
    ("init_module", libc::SYS_init_module, [0, 0, 0]),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, [99, 0, 0]),
    ("type_into_terminal", libc::SYS_ioctl, [0, libc::TIOCSTI, 0]),
    ("socket_packets", libc::SYS_socket, [INET, PACKETS, 0]),
    ("socket_kernel_events", libc::SYS_socket, [16, RAW, 15]),
    ("socket_packet", libc::SYS_socket, [17, RAW, 0]),
    ("socket_algorithm", libc::SYS_socket, [38, 5, 0]),
    ("socket_vsock", libc::SYS_socket, [40, STREAM, 0]),
    ("socket_raw", libc::SYS_socket, [INET, RAW, 1]),
    ("socket_ping", libc::SYS_socket, [INET, DATAGRAM, 1]),
    ("socket_udp_lite", libc::SYS_socket, [INET, DATAGRAM, 136]),
    ("socket_sctp", libc::SYS_socket, [INET, STREAM, 132]),
    ("x32_getpid", X32 + libc::SYS_getpid, [0, 0, 0]),
];
const REFUSALS: &[i32] = &[libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EAFNOSUPPORT, libc::EPROTONOSUPPORT, libc::ESOCKTNOSUPPORT];
/// `getpid` in the table of 32-bit programs.
const OLD_GETPID: u32 = 20;

/// Makes all calls with programs in `folder`, and reports each.
pub(super) fn attempt(folder: &Path, report: impl Fn(&str, Result<String, String>)) {
    if !cfg!(target_arch = "x86_64") {
        report("system_calls", Err("not made: the programs for them are written for x86-64".to_owned()));
        return;
    }
    for (name, number, [first, second, third]) in CALLS {
        let code = elf::system_call(number.unsigned_abs(), [*first, *second, *third, 0, 0, 0]);
        report(name, evaluate(run(folder, &code)));
    }
    report("i386_getpid", evaluate(run(folder, &elf::old_system_call(OLD_GETPID))));
}

fn run(folder: &Path, code: &[u8]) -> std::io::Result<ExitStatus> {
    let path = folder.join("call");
    fs::write(&path, code)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    let status = Command::new(&path).stdin(Stdio::null()).status();
    fs::remove_file(&path)?;
    status
}

/// Refused, killed and missing calls are blocked. Any other error comes from a kernel that would have made the call.
fn evaluate(ended: std::io::Result<ExitStatus>) -> Result<String, String> {
    let status = ended.map_err(|error| format!("the program was not run: {error}"))?;
    match status.code() {
        Some(0) => Ok("the kernel did it".to_owned()),
        Some(code) if REFUSALS.contains(&code) => Err(std::io::Error::from_raw_os_error(code).to_string()),
        Some(code) => Ok(std::io::Error::from_raw_os_error(code).to_string()),
        None => Err(status.to_string()),
    }
}
