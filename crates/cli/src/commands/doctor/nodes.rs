//! The check of paired machines.

use haft_contract::ports::NodeDirectory;
use haft_text::numbers::count;

use super::DoctorCheck;
use crate::arguments::Common;
use crate::output::Output;
use crate::wire::Wire;

const NAME: &str = "nodes";

/// Nothing where no machine is paired: most users have none.
pub(super) async fn check(common: &Common, output: &Output) -> Option<DoctorCheck> {
    // A configuration with errors is reported by its own check.
    let control = Wire::new(common, output).ok()?.node_control();
    let nodes = match control.list().await {
        Ok(nodes) => nodes,
        Err(error) => {
            let fix = "repair or remove the file, and pair again with `haft node pair`";
            return Some(DoctorCheck::error(NAME, error.message().trim_end_matches('.'), fix));
        }
    };
    let away: Vec<&str> = nodes.iter().filter(|node| node.connected != Some(true)).map(|node| node.name.as_str()).collect();
    let paired = count(nodes.len(), "machine");
    match (nodes.len(), away.len()) {
        (0, _) => None,
        (_, 0) => Some(DoctorCheck::good(NAME, format!("{paired} paired, all connected"))),
        _ => {
            let message = format!("{paired} paired; not connected: {}", away.join(", "));
            Some(DoctorCheck::warning(NAME, message, "run `haft serve` here and `haft node run` there"))
        }
    }
}
