//! The escape attempts. Each runs inside the sandbox and prints its result.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

use super::setup::{EXISTING, ProbeTarget, start_time};
use super::system_calls;

pub(crate) const NOTHING: &str = "nothing";
pub(super) const CONFINEMENT: &str = "confinement";
pub(super) const LIMITS: &[&str] = &["memory", "processes", "open_files", "file_size", "tmp_size"];
const MIB: usize = 1 << 20;

/// Evidence of an attempt: `Err` if it was blocked, `Ok` if it succeeded.
type AttemptResult = Result<String, String>;
type AttemptFn = fn(&ProbeTarget) -> AttemptResult;

/// Makes the attempt that the arguments name, and returns the exit code.
pub(crate) fn attempt(arguments: &[OsString]) -> i32 {
    let name = arguments.first().and_then(|name| name.to_str()).unwrap_or_default();
    let target = arguments.get(1).and_then(|text| serde_json::from_str::<ProbeTarget>(text.to_str()?).ok());
    match (name, target) {
        (NOTHING, _) => 0,
        (CONFINEMENT, Some(target)) => confinement(&target),
        (_, Some(target)) => limit(name, &target),
        _ => 2,
    }
}

fn confinement(target: &ProbeTarget) -> i32 {
    let attempts: [(&str, AttemptFn); 14] = [
        ("write_outside", |target| write(&target.outside.join("x"))),
        ("write_system", |_| write_and_remove(Path::new("/etc/haft-probe"))),
        ("write_kernel", |_| write_existing(Path::new("/proc/sys/kernel/domainname"))),
        ("write_protected", |target| write(&target.workspace.join(EXISTING).join("x"))),
        ("rename_protected", |target| {
            evidence(fs::rename(target.workspace.join(EXISTING), target.workspace.join("moved")).map(|()| "it was moved"))
        }),
        ("read_secret", |target| evidence(fs::read_to_string(&target.secret))),
        ("read_home", |target| open_any(&target.home)),
        ("list_homes", |target| open_any(&target.homes)),
        ("read_data", |target| open_any(&target.data)),
        ("connect_out", |target| evidence(TcpStream::connect(("127.0.0.1", target.port)).map(|_| "connected"))),
        ("unix_socket", |target| evidence(UnixStream::connect(&target.socket).map(|_| "connected"))),
        ("see_processes", see_host_process),
        ("open_devices", |_| open_devices()),
        ("keep_privileges", |_| privileges()),
    ];
    report("write_workspace", control(target));
    for (name, attempt) in attempts {
        report(name, attempt(target));
    }
    system_calls::attempt(&target.workspace, report);
    0
}

pub(super) fn report(name: &str, result: AttemptResult) {
    let (word, evidence) = match result {
        Err(evidence) => ("blocked", evidence),
        Ok(evidence) => ("escaped", evidence),
    };
    let evidence = evidence.replace(['\n', '\t'], " ");
    // Where this fails, the reader is gone.
    writeln!(io::stdout(), "{word}\t{name}\t{evidence}").ok();
}

/// Allowed actions must work: a sandbox that blocks everything proves nothing.
fn control(target: &ProbeTarget) -> AttemptResult {
    match write(&target.workspace.join("allowed")) {
        Ok(_) => Err("it can be written, as intended".to_owned()),
        Err(error) => Ok(format!("an allowed write failed: {error}")),
    }
}

fn evidence(result: io::Result<impl Into<String>>) -> AttemptResult {
    result.map(Into::into).map_err(|error| error.to_string())
}

fn write(path: &Path) -> AttemptResult {
    evidence(fs::write(path, "x").map(|()| format!("{} was written", path.display())))
}

/// Leaves nothing where it succeeds.
fn write_and_remove(path: &Path) -> AttemptResult {
    let result = write(path);
    fs::remove_file(path).ok();
    result
}

fn write_existing(path: &Path) -> AttemptResult {
    evidence(fs::OpenOptions::new().write(true).open(path).map(|_| format!("{} can be written", path.display())))
}

/// Whether one of these paths of the host can be opened.
fn open_any(paths: &[PathBuf]) -> AttemptResult {
    let opened = paths.iter().find(|path| File::open(path).is_ok());
    opened.map_or_else(|| Err(format!("none of {} can be opened", paths.len())), |path| Ok(format!("{} can be opened", path.display())))
}

fn see_host_process(target: &ProbeTarget) -> AttemptResult {
    match start_time(target.host) {
        Some(start) if start == target.host_start => Ok(format!("process {} of the host is visible", target.host)),
        _ => Err("the probing process is not visible".to_owned()),
    }
}

fn open_devices() -> AttemptResult {
    let devices = ["/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/kvm", "/proc/kcore"];
    let opened = devices.iter().find(|device| File::open(device).is_ok());
    opened.map_or_else(|| Err("none can be opened".to_owned()), |device| Ok(format!("{device} can be opened")))
}

fn privileges() -> AttemptResult {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned();
    let names = ["NoNewPrivs:", "Seccomp:", "CapPrm:", "CapEff:"];
    let values = names.map(field);
    let text = names.iter().zip(&values).map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
    if values == ["1", "2", "0000000000000000", "0000000000000000"] { Err(text) } else { Ok(text) }
}

fn limit(name: &str, target: &ProbeTarget) -> i32 {
    let attempt: AttemptFn = match name {
        "memory" => |_| allocate_memory(),
        "processes" => |_| start_threads(),
        "open_files" => |_| open_files(),
        "file_size" => |target| fill(&target.workspace.join("large"), 64),
        "tmp_size" => |_| fill(Path::new("/tmp/haft-probe-large"), 7),
        _ => return 2,
    };
    report(name, attempt(target));
    0
}

fn allocate_memory() -> AttemptResult {
    let ones = vec![1; MIB];
    let mut allocated: Vec<u8> = Vec::new();
    while allocated.len() < 512 * MIB {
        allocated.try_reserve_exact(16 * MIB).map_err(|error| error.to_string())?;
        // Untouched memory is not allocated.
        (0..16).for_each(|_| allocated.extend_from_slice(&ones));
    }
    Ok(format!("{} MiB were allocated", allocated.len() / MIB))
}

fn start_threads() -> AttemptResult {
    for count in 0..512 {
        let started = thread::Builder::new().stack_size(16 * 1024).spawn(|| {
            loop {
                thread::park();
            }
        });
        if let Err(error) = started {
            return Err(format!("after {count}: {error}"));
        }
    }
    Ok("512 were started".to_owned())
}

fn open_files() -> AttemptResult {
    let mut files = Vec::new();
    while files.len() < 2048 {
        files.push(File::open("/dev/null").map_err(|error| format!("after {}: {error}", files.len()))?);
    }
    Ok(format!("{} were opened", files.len()))
}

fn fill(path: &Path, mebibytes: usize) -> AttemptResult {
    let piece = vec![1; MIB];
    let mut file = File::create(path).map_err(|error| error.to_string())?;
    let filled = (0..mebibytes).try_for_each(|written| file.write_all(&piece).map_err(|error| format!("after {written} MiB: {error}")));
    fs::remove_file(path).ok();
    filled.map(|()| format!("{mebibytes} MiB were written"))
}
