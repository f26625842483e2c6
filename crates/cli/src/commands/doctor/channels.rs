//! Checks of channels. Nothing is sent: `haft channels test` asks the services.

use std::time::SystemTime;

use haft_contract::ports::SendOutcome;

use super::DoctorCheck;
use crate::commands::channels::rows;
use crate::wire::Wire;

const NAME: &str = "channels";
/// Messages that are looked at.
const NEWEST: usize = 100;

/// One check for all channels, and one for messages whose outcome nobody knows; none where there is no channel.
pub(super) async fn checks(wire: &Wire) -> Vec<DoctorCheck> {
    let reports = wire.channels().reports();
    if reports.is_empty() {
        return Vec::new();
    }
    let faults: Vec<String> = reports.iter().filter_map(|report| Some(format!("{}: {}", report.name, report.fault.as_ref()?))).collect();
    let names: Vec<&str> = reports.iter().map(|report| report.name.as_str()).collect();
    let mut state = match faults.as_slice() {
        [] => DoctorCheck::good(NAME, format!("{} can be used; `haft channels test NAME` asks a service", names.join(", "))),
        _ => DoctorCheck::warning(NAME, faults.join("; "), "correct their tables in the configuration; docs/CHANNELS.md has examples"),
    };
    state.details = Some(rows(wire.channels()).into());
    [Some(state), unknown(wire).await].into_iter().flatten().collect()
}

async fn unknown(wire: &Wire) -> Option<DoctorCheck> {
    let sent = wire.channels().store().ok()?.outgoing(None, NEWEST, SystemTime::now()).await.ok()?;
    let open = sent.iter().filter(|record| record.outcome == Some(SendOutcome::Unknown)).count();
    let message = format!("whether {} arrived is unknown", haft_text::numbers::count(open, "message"));
    (open > 0).then(|| DoctorCheck::warning("messages", message, "`haft channels sent` lists them; they are not sent again"))
}
