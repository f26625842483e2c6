//! The command line of `haft cron`.

use clap::{Args, Subcommand};
use haft_contract::ports::{DeliveryMode, JobTarget, MissedRuns, OverlapRule};

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum CronCommand {
    /// List the scheduled jobs of this folder, with their next runs
    #[command(after_long_help = help::CRON_EXAMPLES)]
    List,
    /// Schedule a job: what is to be done, and when
    #[command(after_long_help = help::CRON_EXAMPLES)]
    Add(Box<AddJobArgs>),
    /// Show one job, with its newest runs
    #[command(after_long_help = help::CRON_EXAMPLES)]
    Show {
        /// The id or the name
        job: String,
    },
    /// Run a job now; its schedule stays as it is
    #[command(after_long_help = help::CRON_EXAMPLES)]
    Run {
        /// The id or the name
        job: String,
    },
    /// Turn a job off
    #[command(after_long_help = help::CRON_EXAMPLES)]
    Pause {
        /// The id or the name
        job: String,
    },
    /// Turn a job on again, and forget its failures
    #[command(after_long_help = help::CRON_EXAMPLES)]
    Resume {
        /// The id or the name
        job: String,
    },
    /// Remove a job; its runs stay in the list
    #[command(after_long_help = help::CRON_EXAMPLES)]
    Remove {
        /// The id or the name
        job: String,
    },
    /// List past runs, and what became of their delivery
    #[command(after_long_help = help::CRON_EXAMPLES)]
    Runs {
        /// The id or the name of a job [default: all]
        job: Option<String>,
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
        limit: u64,
    },
}

/// A new job.
#[derive(Debug, Args)]
pub(crate) struct AddJobArgs {
    /// What is to be done
    pub(crate) message: String,
    /// Once: 2026-12-24T18:00, 'tomorrow 9:00', 20m
    #[arg(long, value_name = "TIME", conflicts_with_all = ["every", "cron"])]
    pub(crate) at: Option<String>,
    /// Again and again: 30m, 2h, '1 day'
    #[arg(long, value_name = "INTERVAL", conflicts_with = "cron")]
    pub(crate) every: Option<String>,
    /// A cron expression: '0 9 * * 1-5' is every weekday at 9
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) cron: Option<String>,
    /// The time zone of the schedule [default: yours]
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// A short name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Run it in this conversation instead of one of its own
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The model, as provider/model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How long a run may take, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// What becomes of the result: none, announce or webhook
    #[arg(long, value_name = "MODE")]
    pub(crate) delivery: Option<DeliveryMode>,
    /// The channel that announces the result, as `haft channels list` names it
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// The recipient on the channel, or the URL of the webhook
    #[arg(long, value_name = "RECIPIENT")]
    pub(crate) to: Option<String>,
    /// Runs that were missed while no server ran: skip, once or all
    #[arg(long, value_name = "POLICY")]
    pub(crate) missed: Option<MissedRuns>,
    /// A run that is due while another works: skip, wait or parallel
    #[arg(long, value_name = "POLICY")]
    pub(crate) overlap: Option<OverlapRule>,
}

impl AddJobArgs {
    /// Where it runs.
    pub(crate) fn target(&self) -> JobTarget {
        if self.session.is_some() { JobTarget::Main } else { JobTarget::Isolated }
    }
}
