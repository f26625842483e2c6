//! The escape attempts of `doctor`: blocked with a sandbox, successful without.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod support;

use haft_sandbox::Unconfined;
use haft_sandbox::probe::{self, ProbeOutcome};
use support::{bubblewrap, launcher};

const PROBES: &str = "write_workspace write_outside write_system write_kernel write_protected rename_protected read_secret read_home \
    list_homes read_data connect_out unix_socket see_processes open_devices keep_privileges kcmp process_vm_readv \
    process_vm_writev pidfd_getfd io_uring_setup io_uring_enter keyctl add_key request_key bpf userfaultfd perf_event_open mount umount2 \
    open_tree move_mount fsopen mount_setattr pivot_root chroot unshare setns clone_namespace clone3 kexec_load init_module \
    open_by_handle_at type_into_terminal socket_packets socket_kernel_events socket_packet socket_algorithm socket_vsock socket_raw socket_ping \
    socket_udp_lite socket_sctp x32_getpid i386_getpid seen_from_outside memory processes open_files file_size tmp_size";

/// Attempts that succeed for any user without a sandbox, which proves that they are real.
const OPEN_TO_ALL: &str = "write_outside write_protected rename_protected read_secret read_data connect_out unix_socket \
    see_processes keep_privileges process_vm_readv pidfd_getfd io_uring_enter setns clone3 type_into_terminal \
    socket_kernel_events socket_udp_lite seen_from_outside memory processes open_files file_size tmp_size";

fn data_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("history.db"), "x").unwrap();
    folder
}

/// C01 to C09, as the sandbox sees them.
#[test]
fn bubblewrap_blocks_every_attempt() {
    let data = data_folder();
    let findings = probe::run(&bubblewrap(), &launcher(), &[data.path().to_owned()]).unwrap();
    let names: Vec<_> = findings.iter().map(|finding| finding.probe.as_str()).collect();
    assert_eq!(names, PROBES.split_whitespace().collect::<Vec<_>>());
    let escaped: Vec<_> = findings.iter().filter(|finding| !finding.is_blocked()).collect();
    assert!(escaped.is_empty(), "{escaped:#?}");
    // The filter itself must have refused, and not a kernel that lacks the call.
    let calls = findings.iter().skip_while(|finding| finding.probe != "kcmp").take_while(|finding| finding.probe != "seen_from_outside");
    for finding in calls {
        let expected = match finding.probe.as_str() {
            "clone3" => "Function not implemented (os error 38)",
            "x32_getpid" | "i386_getpid" => "signal: 31 (SIGSYS)",
            _ => "Operation not permitted (os error 1)",
        };
        assert_eq!(finding.evidence.trim_end_matches(" (core dumped)"), expected, "{}", finding.probe);
    }
}

#[test]
fn attempts_succeed_without_a_sandbox() {
    let data = data_folder();
    let findings = probe::run(&Unconfined, &launcher(), &[data.path().to_owned()]).unwrap();
    let escaped = |name: &str| findings.iter().any(|finding| finding.probe == name && finding.outcome == ProbeOutcome::Escaped);
    let blocked: Vec<_> = OPEN_TO_ALL.split_whitespace().filter(|name| !escaped(name)).collect();
    assert!(blocked.is_empty(), "{blocked:?} in {findings:#?}");
}

#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}
