//! Checks of scheduled jobs: whether something runs them, and which have failed.

use haft_contract::ports::DeliveryState;
use haft_text::numbers::count;

use super::DoctorCheck;
use crate::wire::Wire;

const NAME: &str = "scheduled jobs";
/// Newest runs that are looked at.
const LOOKED_AT: usize = 100;

pub(super) async fn check(wire: &Wire) -> DoctorCheck {
    let jobs = wire.automation();
    let (status, views, runs) = match (jobs.status().await, jobs.list().await, jobs.runs(None, LOOKED_AT).await) {
        (Ok(status), Ok(views), Ok(runs)) => (status, views, runs),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
            return DoctorCheck::error(NAME, error.message().to_owned(), "see the check 'history'");
        }
    };
    if status.enabled > 0 && !status.is_running {
        let message = format!("{} on, and no server runs them", count(status.enabled, "job"));
        return DoctorCheck::warning(NAME, message, "start `haft serve` in this folder");
    }
    let off: Vec<&str> = views.iter().filter(|view| view.job.disabled_because.is_some()).map(|view| view.job.name.as_str()).collect();
    if !off.is_empty() {
        let message = format!("turned off after failures: {}", off.join(", "));
        return DoctorCheck::warning(NAME, message, "`haft cron show NAME` says why, `haft cron resume NAME` turns it on again");
    }
    let lost = runs.iter().filter(|run| matches!(run.delivery, DeliveryState::NotDelivered | DeliveryState::Unknown)).count();
    if lost > 0 {
        let message = format!("{} not delivered, or perhaps not", count(lost, "result"));
        return DoctorCheck::warning(NAME, message, "`haft cron runs` says why");
    }
    if views.is_empty() {
        return DoctorCheck::good(NAME, "none");
    }
    let next = status.next.map(|next| format!("; next run {next}")).unwrap_or_default();
    DoctorCheck::good(NAME, format!("{} on{next}", count(status.enabled, "job")))
}
