//! Resource limits of a call: never above the configured ones.

use haft_contract::{CommandLimits, ToolContext, ToolError};

/// With less, the sandbox itself cannot be set up.
const LEAST_MEMORY_MB: u64 = 16;
const LEAST_PROCESSES: u64 = 8;
const MIB: u64 = 1024 * 1024;

/// The limits that a call requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedLimits {
    pub(crate) memory_mb: Option<u64>,
    pub(crate) cpu_seconds: Option<u64>,
    pub(crate) processes: Option<u64>,
}

impl RequestedLimits {
    /// Refuses limits below which nothing can run.
    pub(crate) fn check(self) -> Result<(), ToolError> {
        for (name, asked, least) in [
            ("memory_mb", self.memory_mb, LEAST_MEMORY_MB),
            ("cpu_seconds", self.cpu_seconds, 1),
            ("processes", self.processes, LEAST_PROCESSES),
        ] {
            if let Some(asked) = asked.filter(|asked| *asked < least) {
                return Err(ToolError::validation(format!(
                    "Parameter '{name}' is {asked}, with which nothing can run; {least} is the least. Leave it out for what is configured."
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn limits(self) -> CommandLimits {
        let memory = self.memory_mb.map(|asked| asked.saturating_mul(MIB));
        CommandLimits { memory, cpu_seconds: self.cpu_seconds, processes: self.processes, ..CommandLimits::default() }
    }

    /// Requested limits that are not enforced.
    pub(crate) fn warnings(self, cx: &ToolContext) -> Vec<String> {
        let Some(command) = cx.plan().planned_command() else { return Vec::new() };
        let is_sandboxed = command.shell().host.is_sandboxed();
        self.unenforced(
            command.limits(),
            if is_sandboxed { "it can only be less than is configured" } else { "no sandbox enforces it there" },
        )
    }

    /// Requested limits that differ from the enforced ones, and why.
    pub(crate) fn unenforced(self, enforced: CommandLimits, why: &str) -> Vec<String> {
        let requested = self.limits();
        let differs = |requested: Option<u64>, enforced: Option<u64>| requested.is_some() && requested != enforced;
        [
            ("memory_mb", differs(requested.memory, enforced.memory)),
            ("cpu_seconds", differs(requested.cpu_seconds, enforced.cpu_seconds)),
            ("processes", differs(requested.processes, enforced.processes)),
        ]
        .iter()
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| format!("'{name}' was ignored: {why}"))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: RequestedLimits = RequestedLimits { memory_mb: Some(16), cpu_seconds: Some(1), processes: Some(8) };

    #[test]
    fn limits_below_the_least_are_refused() {
        assert!(MOST.check().is_ok());
        for (asked, name, least) in [
            (RequestedLimits { memory_mb: Some(15), ..MOST }, "memory_mb", "15, with which nothing can run; 16"),
            (RequestedLimits { cpu_seconds: Some(0), ..MOST }, "cpu_seconds", "0, with which nothing can run; 1"),
            (RequestedLimits { processes: Some(7), ..MOST }, "processes", "7, with which nothing can run; 8"),
        ] {
            let message = format!("Parameter '{name}' is {least} is the least. Leave it out for what is configured.");
            assert_eq!(asked.check().unwrap_err().message(), message);
        }
    }

    #[test]
    fn unenforced_limits_are_named() {
        let limits = MOST.limits();
        assert_eq!(limits, CommandLimits { memory: Some(16 << 20), cpu_seconds: Some(1), processes: Some(8), ..CommandLimits::default() });
        assert_eq!(MOST.unenforced(limits, "x"), Vec::<String>::new());
        assert_eq!(MOST.unenforced(CommandLimits { memory: None, ..limits }, "x"), ["'memory_mb' was ignored: x"]);
        assert_eq!(MOST.unenforced(CommandLimits { memory: limits.memory, ..CommandLimits::default() }, "x").len(), 2);
        let nothing = RequestedLimits { memory_mb: None, cpu_seconds: None, processes: None };
        assert_eq!(nothing.unenforced(limits, "x"), Vec::<String>::new());
    }
}
