//! Facts about this machine. What a platform does not tell is absent.

use haft_contract::{BoxFuture, SystemFacts, ports::SystemProbe};

/// The machine this runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalSystem;

impl SystemProbe for LocalSystem {
    fn facts(&self) -> BoxFuture<'_, SystemFacts> {
        Box::pin(async {
            let (release, memory, uptime) = tokio::join!(text_of("/etc/os-release"), text_of("/proc/meminfo"), text_of("/proc/uptime"));
            gather(release.as_deref(), memory.as_deref(), uptime.as_deref())
        })
    }
}

async fn text_of(path: &'static str) -> Option<String> {
    tokio::fs::read_to_string(path).await.ok()
}

fn gather(release: Option<&str>, memory: Option<&str>, uptime: Option<&str>) -> SystemFacts {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| Some(part.to_string_lossy().into_owned()).filter(|text| !text.is_empty());
    SystemFacts {
        os: std::env::consts::OS.into(),
        version: release.and_then(pretty_name),
        kernel: text(name.release()),
        architecture: std::env::consts::ARCH.into(),
        hostname: text(name.nodename()),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        memory_total: memory.and_then(|memory| memory_line(memory, "MemTotal:")),
        memory_available: memory.and_then(|memory| memory_line(memory, "MemAvailable:")),
        uptime_seconds: uptime.and_then(|uptime| uptime.split('.').next()?.trim().parse().ok()),
    }
}

fn pretty_name(release: &str) -> Option<String> {
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

fn memory_line(memory: &str, label: &str) -> Option<u64> {
    let kibibytes: u64 = memory.lines().find_map(|line| line.strip_prefix(label))?.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_from_what_the_system_says() {
        let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        let memory = "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:    8192 kB\n";
        let facts = gather(Some(release), Some(memory), Some("350735.47 234388.90\n"));
        assert_eq!(
            (facts.version.as_deref(), facts.memory_total, facts.memory_available, facts.uptime_seconds),
            (Some("Debian GNU/Linux 12 (bookworm)"), Some(16384 * 1024), Some(8192 * 1024), Some(350_735))
        );
        assert_eq!((facts.os.as_str(), facts.architecture.as_str()), (std::env::consts::OS, std::env::consts::ARCH));
        assert!(facts.processors >= 1);
        assert!(facts.kernel.is_some() && facts.hostname.is_some());
    }

    #[test]
    fn what_cannot_be_had_is_absent() {
        for (release, memory, uptime) in [(None, None, None), (Some("PRETTY_NAME=\"\""), Some("MemTotal: much"), Some("soon"))] {
            let facts = gather(release, memory, uptime);
            assert_eq!((facts.version, facts.memory_total, facts.memory_available, facts.uptime_seconds), (None, None, None, None));
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn this_machine_answers() {
        let facts = LocalSystem.facts().await;
        assert!(facts.memory_total >= facts.memory_available && facts.memory_available.is_some() && facts.uptime_seconds.is_some());
    }
}
