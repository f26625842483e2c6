//! Settings that several crates share: each is one type, defined here or next to its subject with [`named_enum!`].

use serde::{Deserialize, Serialize};

/// Defines an enum whose variants have names in configuration, with other names that are accepted for them.
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal $(| $alias:literal)*,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];
            /// Their names, in order.
            pub const NAMES: &'static [&'static str] = &[$($text),+];
            /// Other names that are accepted, each with the name that it stands for.
            pub const ALIASES: &'static [(&'static str, &'static str)] = &[$($(($alias, $text),)*)+];

            /// The name in configuration.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                match name {
                    $($text $(| $alias)* => Ok(Self::$variant),)+
                    _ => Err(format!("'{name}' is none of: {}", Self::NAMES.join(", "))),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use named_enum;

named_enum! {
    /// When a hook is called.
    HookEvent {
        /// Before a call is permitted: it may be changed, blocked or answered.
        BeforeToolCall = "before_tool_call",
        /// After a call: nothing of it can be changed any more.
        AfterToolCall = "after_tool_call",
        /// Before the result is stored: what history keeps of it may be changed.
        ToolResultPersist = "tool_result_persist",
    }
}

impl HookEvent {
    /// What a hook does when it cannot run, unless it says otherwise: after a call there is nothing left to block.
    pub const fn default_failure(self) -> OnFailure {
        match self {
            Self::BeforeToolCall | Self::ToolResultPersist => OnFailure::Block,
            Self::AfterToolCall => OnFailure::Continue,
        }
    }
}

named_enum! {
    /// What happens to a call, or to its stored result, when a hook could not run.
    OnFailure {
        /// The call is not made; the text is not stored.
        Block = "block",
        /// It continues as if there were no hook, with a warning.
        Continue = "continue",
    }
}

named_enum! {
    /// When the user is asked; how much may be done is decided elsewhere.
    #[derive(Default)]
    AskMode {
        /// Never: what would be asked is refused.
        Never = "never",
        /// Also about what goes beyond the access level.
        Beyond = "beyond",
        /// About what rules and unknown effects ask.
        #[default]
        Rules = "rules",
        /// About every change.
        Changes = "changes",
        /// About every call.
        Always = "always",
    }
}

named_enum! {
    /// Which programs run without approval, loosest first.
    ExecSecurity {
        /// Any.
        Full = "full",
        /// Those that only filter their input, and those that a rule allows.
        SafeBin = "safe-bin" | "allowlist",
        /// None.
        Paranoid = "paranoid" | "deny",
    }
}

named_enum! {
    /// What happens to a program that does not run without approval. `auto` is neither looser nor stricter than the others.
    #[derive(Default)]
    ExecAsk {
        /// It is refused: the user is not asked.
        Auto = "auto" | "off",
        /// The user is asked.
        #[default]
        Smart = "smart" | "on-miss",
        /// The user is asked about every program, whatever allows it.
        Always = "always",
    }
}

named_enum! {
    /// Whether the sandbox around commands must be complete, loosest first.
    #[derive(Default)]
    SandboxMode {
        /// There is none.
        Off = "off",
        /// The best that this machine has, even if it does not block everything.
        Preferred = "preferred",
        /// Without a complete one, nothing runs.
        #[default]
        Required = "required",
    }
}

named_enum! {
    /// What the sandbox is made of.
    #[derive(Default)]
    SandboxBackend {
        /// The best that works on this machine.
        #[default]
        Auto = "auto",
        /// Namespaces of Linux.
        Bubblewrap = "bubblewrap",
        /// Landlock of Linux, alone.
        Landlock = "landlock",
        /// Docker or Podman.
        Container = "container",
        /// The sandbox of macOS.
        Seatbelt = "seatbelt",
        /// No sandbox.
        None = "none",
    }
}

named_enum! {
    /// What runs containers.
    #[derive(Default)]
    ContainerEngine {
        /// The first that works: Podman, then Docker.
        #[default]
        Auto = "auto",
        /// Docker.
        Docker = "docker",
        /// Podman.
        Podman = "podman",
    }
}

named_enum! {
    /// What the taint guard does when a call could carry private data out, loosest first.
    #[derive(Default)]
    TaintPolicy {
        /// Nothing.
        Off = "off",
        /// The user is asked, whatever else allows it.
        #[default]
        Ask = "ask",
        /// The call is refused.
        Deny = "deny",
    }
}

/// How much of the machine a command may use; `None` means no limit, or in a request the configured one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Bytes of memory: of all processes together where there are control groups, of each elsewhere.
    pub memory: Option<u64>,
    /// Processes and threads at one time.
    pub processes: Option<u64>,
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of one file that is written.
    pub file_size: Option<u64>,
    /// Files that each process may have open.
    pub open_files: Option<u64>,
    /// Bytes of each of the private temporary directories.
    pub tmp_size: Option<u64>,
}

const GIB: u64 = 1 << 30;

impl CommandLimits {
    /// The limits of a sandboxed command where nothing else is configured.
    pub const STANDARD: Self = Self {
        memory: Some(4 * GIB),
        processes: Some(1024),
        cpu_seconds: Some(3600),
        file_size: Some(8 * GIB),
        open_files: Some(4096),
        tmp_size: Some(2 * GIB),
    };

    /// The smaller limit of both, for each resource.
    #[must_use]
    pub fn tightest(self, other: Self) -> Self {
        self.combine(other, |own, other| own.into_iter().chain(other).min())
    }
    /// The limits of a request that are not above those of the configuration.
    #[must_use]
    pub fn within(self, configured: Self) -> Self {
        self.combine(configured, |own, most| own.filter(|own| most.is_none_or(|most| *own <= most)))
    }
    fn combine(self, other: Self, with: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            memory: with(self.memory, other.memory),
            processes: with(self.processes, other.processes),
            cpu_seconds: with(self.cpu_seconds, other.cpu_seconds),
            file_size: with(self.file_size, other.file_size),
            open_files: with(self.open_files, other.open_files),
            tmp_size: with(self.tmp_size, other.tmp_size),
        }
    }
}
