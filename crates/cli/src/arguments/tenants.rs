//! The command line of `haft tenants`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use haft_gateway::Scope;

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum TenantsCommand {
    /// List the tenants
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    List,
    /// Make a tenant
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    Add(AddTenantArgs),
    /// Show a tenant: its users, teams and settings, and what of its quotas is used
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    Show {
        /// The tenant
        name: String,
    },
    /// Change settings of a tenant, which can only tighten yours
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    Set {
        /// The tenant
        name: String,
        /// Keys of the configuration with their values; a key without a value is removed
        #[arg(value_name = "KEY=VALUE", required = true)]
        settings: Vec<String>,
    },
    /// Remove a tenant with everything that it stored
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    Remove {
        /// The tenant
        name: String,
        /// Without this nothing is removed
        #[arg(long)]
        yes: bool,
    },
    /// Let a user in: prints a link, which works once, and a token for programs
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    Invite(InviteArgs),
    /// Sign a user out and remove the tokens that the user made
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    Dismiss {
        /// The tenant
        name: String,
        /// The user
        user: String,
    },
    /// Make or change a team, whose users have at most its scopes; without scopes it is removed
    #[command(after_long_help = help::TENANTS_EXAMPLES)]
    Team {
        /// The tenant
        name: String,
        /// The team
        team: String,
        /// What its users may do: view, chat, approve, admin
        #[arg(long, value_name = "SCOPES", value_delimiter = ',')]
        scopes: Vec<Scope>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddTenantArgs {
    /// Its name: lower-case letters, digits and '-'
    pub(crate) name: String,
    /// The folder that its tools work in; without it one of its own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// A key of the configuration with its value, which can only tighten yours; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InviteArgs {
    /// The tenant
    pub(crate) name: String,
    /// The user
    pub(crate) user: String,
    /// The team of the user
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// What the user may do: view, chat, approve, admin [default: those of the team, or view,chat,approve]
    #[arg(long, value_name = "SCOPES", value_delimiter = ',')]
    pub(crate) scopes: Vec<Scope>,
}
