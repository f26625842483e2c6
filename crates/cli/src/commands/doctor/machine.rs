//! Checks of the machine.

use std::path::{Path, PathBuf};

use haft_host::Desktop;
use jiff::tz::{self, TimeZone};

use super::DoctorCheck;
use super::packages::Package;

pub(super) fn checks() -> Vec<DoctorCheck> {
    vec![paths(), time_zones(), notifications(), certificates()]
}

/// How paths are opened below the workspace. Both ways are safe; openat2 is one system call.
#[cfg(target_os = "linux")]
fn paths() -> DoctorCheck {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    const NAME: &str = "paths";
    match openat2(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH) {
        Err(Errno::NOSYS | Errno::PERM) => DoctorCheck::warning(
            NAME,
            "opened component by component, because the kernel has no openat2",
            "this is as safe; Linux 5.6 is faster",
        ),
        _ => DoctorCheck::good(NAME, "opened below the workspace with openat2"),
    }
}

#[cfg(not(target_os = "linux"))]
fn paths() -> DoctorCheck {
    DoctorCheck::good("paths", "opened component by component below the workspace")
}

fn time_zones() -> DoctorCheck {
    const NAME: &str = "time zones";
    if let Err(error) = tz::db().get("America/New_York") {
        return DoctorCheck::error(NAME, format!("there is no time zone data: {error}"), "install tzdata").install(Package::TimeZones);
    }
    match TimeZone::try_system() {
        Ok(zone) => DoctorCheck::good(
            NAME,
            zone.iana_name().map_or_else(|| "data found".into(), |name| format!("data found, this machine is in {name}")),
        ),
        Err(error) => DoctorCheck::warning(NAME, format!("this machine's zone is not known: {error}"), "set TZ, such as TZ=Europe/Berlin"),
    }
}

fn notifications() -> DoctorCheck {
    const NAME: &str = "notices";
    let desktop = Desktop::from_environment();
    let program = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };
    let found = desktop.search_path.iter().any(|folder| folder.join(program).is_file());
    match (found, desktop.session.is_empty() && cfg!(not(target_os = "macos"))) {
        (true, false) => DoctorCheck::good(NAME, format!("shown on the desktop with {program}")),
        (_, true) => DoctorCheck::good(NAME, "written to the alert log, because there is no desktop here"),
        (false, false) => DoctorCheck::warning(
            NAME,
            format!("written to the alert log, because {program} is not installed"),
            "install libnotify-bin (Debian) or libnotify",
        )
        .install(Package::Notices),
    }
}

/// Files and folders of CA certificates.
const CERTIFICATES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
];

fn certificates() -> DoctorCheck {
    const NAME: &str = "certificates";
    if cfg!(target_os = "macos") {
        return DoctorCheck::good(NAME, "those of the system");
    }
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    match named.chain(CERTIFICATES.map(PathBuf::from)).find(|path| has_content(path)) {
        Some(path) => DoctorCheck::good(NAME, format!("HTTPS is checked with {}", path.display())),
        None => DoctorCheck::warning(NAME, "none found: HTTPS requests will fail", "install ca-certificates, or set SSL_CERT_FILE")
            .install(Package::Certificates),
    }
}

fn has_content(path: &Path) -> bool {
    if path.is_dir() {
        return path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    }
    path.metadata().is_ok_and(|file| file.len() > 0)
}
