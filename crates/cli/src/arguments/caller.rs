//! The flags that name the caller of a call.

use clap::Args;

/// The caller of a policy question; by default you and the agent that you talk to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "As if")]
pub(crate) struct CallerArgs {
    /// As if this provider, or provider/model, called
    #[arg(long, value_name = "PROVIDER[/MODEL]")]
    pub(crate) provider: Option<String>,
    /// As if the message came from this channel: telegram, or telegram:-100 for one group of it
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// As if this user had sent it: id:42, e164:+49…, username:ann or name:Ann
    #[arg(long, value_name = "SENDER")]
    pub(crate) sender: Option<String>,
    /// As if this many sub-agents were between you and the caller
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) depth: u32,
    /// As if a sub-agent of this type, started by you, called: explore, or one of your own; general-purpose, if none is named
    #[arg(long, value_name = "TYPE", num_args = 0..=1, require_equals = true, default_missing_value = haft_agent::GENERAL_PURPOSE)]
    pub(crate) as_subagent: Option<String>,
    /// As if the session ran in a sandbox
    #[arg(long)]
    pub(crate) sandboxed: bool,
    /// As if someone who is not the owner had asked
    #[arg(long)]
    pub(crate) guest: bool,
}

/// Another caller in one flag.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "As if")]
pub(crate) struct ActingArgs {
    /// As if this caller, who is never the owner, called: anthropic/slack/ann/1; parts may be empty
    #[arg(long = "as", value_name = "PROVIDER/CHANNEL/SENDER/DEPTH", value_parser = CallerArgs::parse_acting)]
    acting: Option<CallerArgs>,
}

impl ActingArgs {
    /// The caller; flags about parts of it win.
    pub(crate) fn with(self, flags: CallerArgs) -> CallerArgs {
        self.acting.unwrap_or_default().then(flags)
    }
}

impl CallerArgs {
    /// Parses `PROVIDER/CHANNEL/SENDER/DEPTH`; a provider may have a model. Such a caller is a guest: it can do at most what the
    /// owner can.
    fn parse_acting(written: &str) -> Result<Self, String> {
        let [depth, sender, channel, provider] = written.rsplitn(4, '/').collect::<Vec<_>>()[..] else {
            return Err("write four parts, PROVIDER/CHANNEL/SENDER/DEPTH; each may be empty, as in //ann/".into());
        };
        let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let depth = if depth.is_empty() { Ok(0) } else { depth.parse() };
        let depth = depth.map_err(|_| "the last part is the number of sub-agents between you and the caller, such as 1")?;
        Ok(Self {
            provider: part(provider),
            channel: part(channel),
            sender: part(sender),
            depth,
            as_subagent: None,
            sandboxed: false,
            guest: true,
        })
    }

    /// Later flags win.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            provider: later.provider.or(self.provider),
            channel: later.channel.or(self.channel),
            sender: later.sender.or(self.sender),
            depth: if later.depth > 0 { later.depth } else { self.depth },
            as_subagent: later.as_subagent.or(self.as_subagent),
            sandboxed: later.sandboxed || self.sandboxed,
            guest: later.guest || self.guest,
        }
    }
}
