//! The attacks, one row each. Ids are those of the list of attacks in the design; `--` are ours.

use crate::backend::Backend;
use crate::runs;

/// How an attack is made.
pub(crate) enum Attack {
    /// A script that prints what it reached: any output besides `blocked` is an escape.
    Script(&'static str),
    /// Attempts of `doctor`, by name: each must be blocked.
    Probes(&'static str),
    /// A function; it panics on an escape.
    Run(fn(&Backend)),
    /// Not a matter of the sandbox: the tests of what blocks it, as `file::function`.
    Elsewhere(&'static [&'static str]),
}

pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) attack: Attack,
    /// Backends to which it does not apply.
    pub(crate) exclusions: &'static [Exclusion],
}

/// A backend to which an attack does not apply, the reason, and the tests that show it instead, as `file::function`.
pub(crate) struct Exclusion {
    pub(crate) backend: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) instead: &'static [&'static str],
}

const fn script(id: &'static str, name: &'static str, script: &'static str) -> Row {
    Row { id, name, attack: Attack::Script(script), exclusions: &[] }
}
const fn probes(id: &'static str, name: &'static str, names: &'static str) -> Row {
    Row { id, name, attack: Attack::Probes(names), exclusions: &[] }
}
const fn run(id: &'static str, name: &'static str, attack: fn(&Backend), exclusions: &'static [Exclusion]) -> Row {
    Row { id, name, attack: Attack::Run(attack), exclusions }
}
const fn elsewhere(id: &'static str, name: &'static str, tests: &'static [&'static str]) -> Row {
    Row { id, name, attack: Attack::Elsewhere(tests), exclusions: &[] }
}
const fn not_container(reason: &'static str, instead: &'static [&'static str]) -> Exclusion {
    Exclusion { backend: "container", reason, instead }
}

const ENGINE: &[Exclusion] = &[not_container(
    "an engine that is missing is tried through the binary, whose PATH can be set",
    &["crates/cli/tests/suite/container.rs::what_cannot_be_had_is_refused_with_what_to_do"],
)];
const STEPS: &[Exclusion] = &[not_container(
    "its launcher step is the supervisor, which is broken there",
    &["crates/cli/tests/suite/leftovers.rs::c07_nothing_stays_of_containers"],
)];
const TERMINAL: &[Exclusion] = &[not_container(
    "it supports no terminals, and the result of the call says so",
    &["crates/builtin/src/runtime/exec/tests.rs::a_terminal_that_cannot_be_given_is_said"],
)];
const DEVICES: &[Exclusion] = &[not_container("its /dev is its own, and gone with it", &[])];

/// Every test that the table names.
pub(crate) fn named_tests() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|row| {
        let elsewhere = if let Attack::Elsewhere(tests) = row.attack { tests } else { &[] };
        elsewhere.iter().chain(row.exclusions.iter().flat_map(|exclusion| exclusion.instead)).copied()
    })
}

#[rustfmt::skip] // one attack a line
pub(crate) const TABLE: &[Row] = &[
    probes("C01", "calls that trace, mount, enter or reprogram", "kcmp process_vm_readv process_vm_writev pidfd_getfd io_uring_setup io_uring_enter keyctl add_key request_key bpf userfaultfd perf_event_open mount umount2 open_tree move_mount fsopen mount_setattr pivot_root chroot setns kexec_load init_module open_by_handle_at"),
    script("C01", "the first process is traced", "command -v python3 >/dev/null || { echo blocked; exit; }; python3 -c 'import ctypes; print(\"attached\" if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0 else \"blocked\")'"),
    probes("C02", "a socket that has a name", "unix_socket seen_from_outside"),
    script("C02", "the sockets of services", "ls /run/docker.sock /run/dbus /var/run/docker.sock /tmp/.X11-unix /run/user /run/systemd 2>/dev/null; echo blocked"),
    probes("C03", "sockets of all kinds", "connect_out socket_packets socket_kernel_events socket_packet socket_algorithm socket_vsock socket_raw socket_ping socket_udp_lite socket_sctp"),
    script("C03", "a connection by the shell", "(exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null && echo connected; echo blocked"),
    script("C03", "a name that is looked up", "(timeout 5 getent hosts example.org || timeout 5 nslookup example.org | grep -i '^name') 2>/dev/null; echo blocked"),
    script("C03", "interfaces of the network", "sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' ' | grep -vxE 'lo|(sit|ip6tnl|tunl|gre|erspan|ip_vti|ip6_vti|ip6gre|gretap|bond|ifb|dummy|teql).*'; echo blocked"),
    probes("C04", "the calls of other machines", "x32_getpid i386_getpid"),
    probes("C05", "typing into the terminal", "type_into_terminal"),
    script("C05", "the terminal of the host", "(exec 3<>/dev/tty) 2>/dev/null && echo opened; echo blocked"),
    run("C05", "descriptors of the host", runs::descriptors, &[]),
    probes("C06", "rights that are left", "keep_privileges unshare clone_namespace clone3"),
    script("C06", "a program with set user id", "cp /bin/sh x 2>/dev/null && chmod 4755 x; ./x -c 'grep -q \"^CapEff:.*[1-9a-f]\" /proc/self/status && echo gained' 2>/dev/null; rm -f x; echo blocked"),
    script("C06", "capabilities", "grep -E '^Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | grep -v 0000000000000000; echo blocked"),
    script("C07", "processes of the host", "for p in /proc/[0-9]*; do echo ${p#/proc/}; done | grep -vxE '[0-9]|[1-3][0-9]'; echo blocked"),
    probes("C07", "a process of the host by its number", "see_processes"),
    script("C07", "a signal to all processes", "trap '' TERM; kill -TERM -1 2>/dev/null; echo blocked"),
    run("C07", "what hides in the background ends with the command", runs::hidden, &[]),
    run("C07", "what ignores signals and leaves its session is killed", runs::killed, &[]),
    probes("C08", "more than its share", "memory processes open_files file_size tmp_size"),
    run("C08", "a fork bomb", runs::bomb, &[]),
    run("C09", "temporary files that the host shares", runs::temporary, &[]),
    run("C10", "a sandbox that cannot be had", runs::unavailable, ENGINE),
    run("C11", "each launcher step broken in turn", runs::broken_steps, STEPS),
    run("C11", "killed at any moment of its start", runs::killed_early, &[]),
    run("C12", "the same sandbox with a terminal", runs::with_terminal, TERMINAL),
    elsewhere("C12", "jobs in the background, terminals, helpers", &["crates/cli/tests/suite/attacks.rs::c12_every_way_to_start_a_command_has_the_same_sandbox", "crates/cli/tests/suite/pdf.rs::c12_helper_has_the_sandbox_of_commands"]),
    run("C13", "secrets in the environment", runs::environment, &[]),
    elsewhere("C14", "a link that is planted for the tools outside", &["crates/cli/tests/suite/attacks.rs::c14_a_planted_link_leads_nowhere"]),
    elsewhere("C15", "files that other programs run on their own", &["crates/cli/tests/suite/changes.rs::secrets_and_what_others_run_are_told_apart"]),
    probes("--", "files outside, protected, secret", "write_workspace write_outside write_system write_kernel write_protected rename_protected read_secret open_devices"),
    probes("--", "homes and data of the host", "read_home list_homes read_data"),
    script("--", "what is not in the view", "ls -d /boot /home/* /mnt /media /srv /root/* /var/log /var/lib/* \"$OUT/..\"/* 2>/dev/null | grep -vE \"^($OUT/../(outside|workspace)|/var/lib/(dpkg|apt|rpm|pacman|alternatives|ca-certificates|texmf))$\"; echo blocked"),
    script("--", "settings of the system that others cannot read", "cat /etc/shadow /etc/gshadow /etc/sudoers 2>/dev/null; ls /etc/ssl/private 2>/dev/null; echo blocked"),
    script("--", "the kernel's settings", "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger; do (: >>$f) 2>/dev/null && echo $f; done; echo blocked"),
    script("--", "control groups", "find /sys/fs/cgroup \\( -name cgroup.procs -o -name tasks \\) 2>/dev/null | while read f; do (echo 0 >$f) 2>/dev/null && echo $f; done; echo blocked"),
    script("--", "writes to the system", "for d in / /etc /usr /usr/bin /bin /var /home /root /opt /sys \"$OUT\"; do (: >$d/haft-x) 2>/dev/null && echo $d; done; echo blocked"),
    Row { id: "--", name: "files among the devices", attack: Attack::Script("(: >/dev/haft-x) 2>/dev/null && echo written; echo blocked"), exclusions: DEVICES },
    script("--", "a secret file", "cat \"$OUT/secret\" 2>/dev/null; cat .env 2>/dev/null; echo blocked"),
    script("--", "a secret directory", "ls keys 2>/dev/null; cat keys/id 2>/dev/null; echo blocked"),
    script("--", "a secret that is moved away", "mv keys k2 2>/dev/null; mv .env e2 2>/dev/null; cat k2/id e2 2>/dev/null; cp .env e3 2>/dev/null && cat e3; rm -f e3; echo blocked"),
    script("--", "a secret by another name", "ln .env e4 2>/dev/null && cat e4; ln -s .env e5; cat e5 2>/dev/null; rm -f e4 e5; echo blocked"),
    script("--", "a protected file", "(echo x >settings) 2>/dev/null; rm -f settings 2>/dev/null; mv settings s 2>/dev/null; (echo x >n; mv -f n settings) 2>/dev/null; rm -f n; cat settings | grep -vx mine; echo blocked"),
    script("--", "a protected directory", "(echo x >.git/hooks/pre-commit) 2>/dev/null && echo written; rmdir .git/hooks 2>/dev/null && echo removed; mv .git/hooks h 2>/dev/null && echo moved; rm -rf h; echo blocked"),
    script("--", "what lies above a protected one", "rm -rf .git 2>/dev/null && echo removed; mv .git g && (echo x >g/hooks/x) 2>/dev/null && echo written; mv g .git; echo blocked"),
    script("--", "the kernel's secrets", "cat /proc/keys /proc/kcore /proc/kmsg /dev/kmsg /dev/mem 2>/dev/null | head -c 9; echo blocked"),
    script("--", "the hostname", "hostname | grep -vx haft; hostname other 2>/dev/null && echo set; echo blocked"),
];
