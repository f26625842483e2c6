//! What the machine has to offer.

use std::path::{Path, PathBuf};

use haft_host::Desktop;
use jiff::tz::{self, TimeZone};

use super::Check;

pub(super) fn checks() -> Vec<Check> {
    vec![paths(), time_zones(), notifications(), certificates()]
}

/// How paths are opened beneath a folder. Both ways are safe; the kernel's is one call.
#[cfg(target_os = "linux")]
fn paths() -> Check {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    const NAME: &str = "paths";
    match openat2(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH) {
        Err(Errno::NOSYS | Errno::PERM) => {
            Check::care(NAME, "opened name by name, because the kernel has no openat2", "nothing is less safe; Linux 5.6 is faster")
        }
        _ => Check::good(NAME, "opened beneath the workspace by the kernel (openat2)"),
    }
}

#[cfg(not(target_os = "linux"))]
fn paths() -> Check {
    Check::good("paths", "opened name by name beneath the workspace")
}

fn time_zones() -> Check {
    const NAME: &str = "time zones";
    if let Err(error) = tz::db().get("America/New_York") {
        return Check::bad(NAME, format!("there is no time zone data: {error}"), "install tzdata");
    }
    match TimeZone::try_system() {
        Ok(zone) => {
            Check::good(NAME, zone.iana_name().map_or_else(|| "data found".into(), |name| format!("data found, this machine is in {name}")))
        }
        Err(error) => Check::care(NAME, format!("this machine's zone is not known: {error}"), "set TZ, such as TZ=Europe/Berlin"),
    }
}

fn notifications() -> Check {
    const NAME: &str = "notices";
    let desktop = Desktop::from_environment();
    let program = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };
    let found = desktop.search_path.iter().any(|folder| folder.join(program).is_file());
    match (found, desktop.session.is_empty() && cfg!(not(target_os = "macos"))) {
        (true, false) => Check::good(NAME, format!("shown on the desktop with {program}")),
        (_, true) => Check::good(NAME, "written to the alert log, because there is no desktop here"),
        (false, false) => Check::care(
            NAME,
            format!("written to the alert log, because {program} is not installed"),
            "install libnotify-bin (Debian) or libnotify",
        ),
    }
}

/// Where systems keep the certificates that HTTPS is checked with.
const CERTIFICATES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
];

fn certificates() -> Check {
    const NAME: &str = "certificates";
    if cfg!(target_os = "macos") {
        return Check::good(NAME, "those of the system");
    }
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    match named.chain(CERTIFICATES.map(PathBuf::from)).find(|path| has_content(path)) {
        Some(path) => Check::good(NAME, format!("HTTPS is checked with {}", path.display())),
        None => Check::care(NAME, "none found: HTTPS requests will fail", "install ca-certificates, or set SSL_CERT_FILE"),
    }
}

fn has_content(path: &Path) -> bool {
    if path.is_dir() {
        return path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    }
    path.metadata().is_ok_and(|file| file.len() > 0)
}
