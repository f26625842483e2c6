//! The attempts themselves. Each runs inside the sandbox and prints what came of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use super::stage::{EXISTING, MISSING, Target, started};
use super::system_calls;

pub(crate) const NOTHING: &str = "nothing";
pub(super) const WALLS: &str = "walls";
pub(super) const LIMITS: &[&str] = &["memory", "processes", "open_files", "file_size", "tmp_size"];
const MIB: usize = 1 << 20;

/// What an attempt saw: an error is what held it, a success what it got.
type Tried = Result<String, String>;
type Attempt = fn(&Target) -> Tried;

/// Makes the attempt that is named, and gives the code to exit with.
pub(crate) fn attempt(arguments: &[OsString]) -> i32 {
    let name = arguments.first().and_then(|name| name.to_str()).unwrap_or_default();
    let target = arguments.get(1).and_then(|text| serde_json::from_str::<Target>(text.to_str()?).ok());
    match (name, target) {
        (NOTHING, _) => 0,
        (WALLS, Some(target)) => walls(&target),
        (_, Some(target)) => limit(name, &target),
        _ => 2,
    }
}

fn walls(target: &Target) -> i32 {
    let attempts: [(&str, Attempt); 13] = [
        ("write_outside", |target| write(&target.outside.join("x"))),
        ("write_system", |_| write_and_remove(Path::new("/etc/haft-probe"))),
        ("write_kernel", |_| write_existing(Path::new("/proc/sys/kernel/domainname"))),
        ("write_protected", |target| write(&target.workspace.join(EXISTING).join("x"))),
        ("rename_protected", |target| {
            seen(fs::rename(target.workspace.join(EXISTING), target.workspace.join("moved")).map(|()| "it was moved"))
        }),
        ("create_protected", |target| {
            let path = target.workspace.join(MISSING);
            seen(fs::create_dir_all(&path).map(|()| "it was made")).and_then(|_| write(&path.join("x")))
        }),
        ("replace_protected", |target| seen(fs::remove_dir(target.workspace.join(MISSING)).map(|()| "it was removed"))),
        ("read_secret", |target| seen(fs::read_to_string(&target.secret))),
        ("connect_out", |target| seen(TcpStream::connect(("127.0.0.1", target.port)).map(|_| "connected"))),
        ("unix_socket", |target| seen(UnixStream::connect(&target.socket).map(|_| "connected"))),
        ("see_processes", see_host),
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

pub(super) fn report(name: &str, tried: Tried) {
    let (word, evidence) = match tried {
        Err(evidence) => ("held", evidence),
        Ok(evidence) => ("escaped", evidence),
    };
    let evidence = evidence.replace(['\n', '\t'], " ");
    // Whoever asked has gone where this fails.
    writeln!(io::stdout(), "{word}\t{name}\t{evidence}").ok();
}

/// Walls that hold everything hold nothing: what is allowed must work.
fn control(target: &Target) -> Tried {
    match write(&target.workspace.join("allowed")) {
        Ok(_) => Err("it can be written, as it should".to_owned()),
        Err(error) => Ok(format!("what is allowed does not work: {error}")),
    }
}

fn seen(result: io::Result<impl Into<String>>) -> Tried {
    result.map(Into::into).map_err(|error| error.to_string())
}

fn write(path: &Path) -> Tried {
    seen(fs::write(path, "x").map(|()| format!("{} was written", path.display())))
}

/// Nothing is left where it works.
fn write_and_remove(path: &Path) -> Tried {
    let tried = write(path);
    fs::remove_file(path).ok();
    tried
}

fn write_existing(path: &Path) -> Tried {
    seen(fs::OpenOptions::new().write(true).open(path).map(|_| format!("{} can be written", path.display())))
}

fn see_host(target: &Target) -> Tried {
    match started(target.host) {
        Some(since) if since == target.host_since => Ok(format!("process {} of the host is there", target.host)),
        _ => Err("the process that probes is not there".to_owned()),
    }
}

fn open_devices() -> Tried {
    let devices = ["/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/kvm", "/proc/kcore"];
    let opened = devices.iter().find(|device| File::open(device).is_ok());
    opened.map_or_else(|| Err("none can be opened".to_owned()), |device| Ok(format!("{device} can be opened")))
}

fn privileges() -> Tried {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned();
    let names = ["NoNewPrivs:", "Seccomp:", "CapPrm:", "CapEff:"];
    let found = names.map(field);
    let text = names.iter().zip(&found).map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
    if found == ["1", "2", "0000000000000000", "0000000000000000"] { Err(text) } else { Ok(text) }
}

fn limit(name: &str, target: &Target) -> i32 {
    let attempt: Attempt = match name {
        "memory" => |_| eat_memory(),
        "processes" => |_| start_threads(),
        "open_files" => |_| open_files(),
        "file_size" => |target| fill(&target.workspace.join("large"), 64),
        "tmp_size" => |_| fill(Path::new("/tmp/haft-probe-large"), 7),
        _ => return 2,
    };
    report(name, attempt(target));
    0
}

fn eat_memory() -> Tried {
    let ones = vec![1; MIB];
    let mut eaten: Vec<u8> = Vec::new();
    while eaten.len() < 512 * MIB {
        eaten.try_reserve_exact(16 * MIB).map_err(|error| error.to_string())?;
        // Memory that nobody has touched is only a promise.
        (0..16).for_each(|_| eaten.extend_from_slice(&ones));
    }
    Ok(format!("{} MiB were taken", eaten.len() / MIB))
}

fn start_threads() -> Tried {
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

fn open_files() -> Tried {
    let mut files = Vec::new();
    while files.len() < 2048 {
        files.push(File::open("/dev/null").map_err(|error| format!("after {}: {error}", files.len()))?);
    }
    Ok(format!("{} were opened", files.len()))
}

fn fill(path: &Path, mebibytes: usize) -> Tried {
    let piece = vec![1; MIB];
    let mut file = File::create(path).map_err(|error| error.to_string())?;
    let filled = (0..mebibytes).try_for_each(|written| file.write_all(&piece).map_err(|error| format!("after {written} MiB: {error}")));
    fs::remove_file(path).ok();
    filled.map(|()| format!("{mebibytes} MiB were written"))
}
