//! Calls that run, each with its process: after a kill, the next start finds what was cut off.

use std::collections::HashSet;

use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute};
use super::presence::Presences;

const END: &str = "DELETE FROM running WHERE record = ANY($1)";
const TAKE: &str = "UPDATE running SET presence = $3 WHERE record = $1 AND presence = $2";

/// Notes that nothing of a call is left to be done.
pub(super) async fn end(link: &Link, record: &str) -> Result<(), Failure> {
    execute(link, END, &[&[Text(record)].as_slice()]).await.map(drop)
}

/// The calls whose process has ended without recording an outcome, each with the id of that process, the oldest first.
pub(super) async fn interrupted(link: &Link, presences: &Presences) -> Result<Vec<(String, String)>, Failure> {
    let running = all(link, "SELECT record, presence FROM running ORDER BY record", &[], |row| Ok((row.text(0)?, row.text(1)?))).await?;
    let mut interrupted = Vec::new();
    for (record, presence) in running {
        if !presences.is_alive(link, &presence).await? {
            interrupted.push((record, presence));
        }
    }
    Ok(interrupted)
}

/// Makes an interrupted call this process's own; says whether no other process was faster.
pub(super) async fn take(link: &Link, presences: &Presences, record: &str, ended: &str) -> Result<bool, Failure> {
    let Some(presence) = presences.my_id() else { return Ok(false) };
    Ok(execute(link, TAKE, &[&Text(record), &Text(ended), &Text(presence)]).await? > 0)
}

/// The calls that living processes run.
pub(super) async fn in_use(link: &Link, presences: &Presences) -> Result<HashSet<String>, Failure> {
    let interrupted: HashSet<String> = interrupted(link, presences).await?.into_iter().map(|(record, _)| record).collect();
    let records = all(link, "SELECT record FROM running", &[], |row| row.text(0)).await?;
    Ok(records.into_iter().filter(|record| !interrupted.contains(record)).collect())
}
