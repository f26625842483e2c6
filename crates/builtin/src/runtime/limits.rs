//! How much of the machine a call lets its line use: never more than is configured.

use haft_contract::{LineLimits, ToolContext, ToolError};

/// With less, the walls themselves cannot be put up.
const LEAST_MEMORY_MB: u64 = 16;
const LEAST_PROCESSES: u64 = 8;
const MIB: u64 = 1024 * 1024;

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) memory_mb: Option<u64>,
    pub(super) cpu_seconds: Option<u64>,
    pub(super) processes: Option<u64>,
}

impl Asked {
    /// Says beforehand what is too little for anything to run.
    pub(super) fn check(self) -> Result<(), ToolError> {
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

    pub(super) fn limits(self) -> LineLimits {
        let memory = self.memory_mb.map(|asked| asked.saturating_mul(MIB));
        LineLimits { memory, cpu_seconds: self.cpu_seconds, processes: self.processes }
    }

    /// What was asked for and is not held.
    pub(super) fn warnings(self, cx: &ToolContext) -> Vec<String> {
        let Some(line) = cx.plan().planned_line() else { return Vec::new() };
        let walled = line.shell().host.is_walled();
        self.unheld(line.limits(), if walled { "it can only be less than is configured" } else { "no walls hold it there" })
    }

    /// What was asked for and is not among what is held, and why.
    pub(super) fn unheld(self, held: LineLimits, why: &str) -> Vec<String> {
        let asked = self.limits();
        let is_unheld = |asked: Option<u64>, held: Option<u64>| asked.is_some() && asked != held;
        [
            ("memory_mb", is_unheld(asked.memory, held.memory)),
            ("cpu_seconds", is_unheld(asked.cpu_seconds, held.cpu_seconds)),
            ("processes", is_unheld(asked.processes, held.processes)),
        ]
        .iter()
        .filter(|(_, is_unheld)| *is_unheld)
        .map(|(name, _)| format!("'{name}' was ignored: {why}"))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Asked = Asked { memory_mb: Some(16), cpu_seconds: Some(1), processes: Some(8) };

    #[test]
    fn too_little_is_refused_with_the_least() {
        assert!(MOST.check().is_ok());
        for (asked, name, least) in [
            (Asked { memory_mb: Some(15), ..MOST }, "memory_mb", "15, with which nothing can run; 16"),
            (Asked { cpu_seconds: Some(0), ..MOST }, "cpu_seconds", "0, with which nothing can run; 1"),
            (Asked { processes: Some(7), ..MOST }, "processes", "7, with which nothing can run; 8"),
        ] {
            let message = format!("Parameter '{name}' is {least} is the least. Leave it out for what is configured.");
            assert_eq!(asked.check().unwrap_err().message(), message);
        }
    }

    #[test]
    fn what_is_not_held_is_named() {
        let limits = MOST.limits();
        assert_eq!(limits, LineLimits { memory: Some(16 << 20), cpu_seconds: Some(1), processes: Some(8) });
        assert_eq!(MOST.unheld(limits, "x"), Vec::<String>::new());
        assert_eq!(MOST.unheld(LineLimits { memory: None, ..limits }, "x"), ["'memory_mb' was ignored: x"]);
        assert_eq!(MOST.unheld(LineLimits { memory: limits.memory, ..LineLimits::default() }, "x").len(), 2);
        let nothing = Asked { memory_mb: None, cpu_seconds: None, processes: None };
        assert_eq!(nothing.unheld(limits, "x"), Vec::<String>::new());
    }
}
