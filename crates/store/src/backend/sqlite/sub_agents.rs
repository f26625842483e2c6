//! Sub-agents as rows. One that has not ended names its process; if that is gone, so is the sub-agent.

use std::time::SystemTime;

use haft_contract::ports::{SubAgentStatus, ThinkingLevel};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::owners::Owners;
use super::rows::number;
use crate::UsageSum;
use crate::backend::values::{bytes, integer, nanoseconds_since_1970, path, time};
use crate::error::SqlFault;

const COLUMNS: &str = "session, parent, depth, label, agent, agent_type, task, model, state, background, created, started, ended, rounds, \
     calls, input, output, cost_micros, answer, error, reported, is_open, sandbox, cwd, thinking";

const PUT: &str = "INSERT OR REPLACE INTO sub_agents (session, parent, depth, label, agent, agent_type, task, model, state, background, \
     created, started, ended, rounds, calls, input, output, cost_micros, answer, error, reported, presence, is_open, \
     sandbox, cwd, thinking) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, \
     ?22, ?23, ?24, ?25, ?26)";

const ACTIVE: &str = "SELECT session, presence FROM sub_agents WHERE presence IS NOT NULL";

const INTERRUPT: &str = "UPDATE sub_agents SET state = 'failed', error = ?2, ended = ?3, presence = NULL, reported = 0 WHERE session = ?1";

/// What a sub-agent says that ended with its process.
pub(in crate::backend) const INTERRUPTED: &str = "interrupted: the process that ran it has ended";

/// The session, and every session of a sub-agent beneath it.
const TREE: &str = "WITH RECURSIVE tree (id) AS (SELECT ?1 UNION SELECT session FROM sub_agents JOIN tree ON parent = tree.id) \
     SELECT id FROM tree";

pub(super) fn put(connection: &Connection, status: &SubAgentStatus, presence: &str) -> Result<(), SqlFault> {
    super::session_rows::require(connection, &status.id)?;
    let presence = status.state.is_active().then_some(presence);
    connection.prepare_cached(PUT)?.execute(params![
        status.id,
        status.parent,
        status.depth,
        status.label,
        status.agent,
        status.agent_type,
        status.task,
        status.model,
        status.state.as_str(),
        status.background,
        nanoseconds_since_1970(status.created),
        status.started.map(nanoseconds_since_1970),
        status.ended.map(nanoseconds_since_1970),
        status.rounds,
        status.calls,
        integer(status.input),
        integer(status.output),
        status.cost_micros,
        status.answer,
        status.error,
        status.reported,
        presence,
        status.is_open,
        status.sandbox.as_str(),
        status.cwd.as_deref().map(bytes),
        status.thinking.map(ThinkingLevel::as_str),
    ])?;
    Ok(())
}

pub(super) fn find(connection: &Connection, session: &str) -> Result<Option<SubAgentStatus>, SqlFault> {
    let sql = format!("SELECT {COLUMNS} FROM sub_agents WHERE session = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([session], status).optional()?)
}

/// Oldest first: ids are sorted by time.
pub(super) fn children(connection: &Connection, parent: &str) -> Result<Vec<SubAgentStatus>, SqlFault> {
    let sql = format!("SELECT {COLUMNS} FROM sub_agents WHERE parent = ?1 ORDER BY session");
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([parent], status)?.collect::<rusqlite::Result<_>>()?)
}

/// Ends those whose process is gone; says how many.
pub(super) fn interrupt(connection: &Connection, owners: &Owners, now: SystemTime) -> Result<u64, SqlFault> {
    let mut statement = connection.prepare_cached(ACTIVE)?;
    let active = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    let mut count = 0;
    for (session, presence) in active {
        if !owners.is_mine(&presence) && !owners.is_alive(&presence)? {
            connection.prepare_cached(INTERRUPT)?.execute(params![session, INTERRUPTED, nanoseconds_since_1970(now)])?;
            count += 1;
        }
    }
    Ok(count)
}

/// Whether a sub-agent may have been interrupted: one that another process runs, or ran.
pub(super) fn has_foreign(connection: &Connection, mine: Option<&str>) -> Result<bool, SqlFault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sub_agents WHERE presence IS NOT NULL AND presence IS NOT ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([mine], |row| row.get(0))?)
}

/// What a session and all beneath it used.
pub(super) fn tree_usage(connection: &Connection, session: &str) -> Result<UsageSum, SqlFault> {
    super::usage::sum_where(connection, &format!("session IN ({TREE})"), session)
}

fn status(row: &Row<'_>) -> rusqlite::Result<SubAgentStatus> {
    let state: String = row.get(8)?;
    let sandbox: String = row.get(22)?;
    let unknown = |column| move |error: String| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into());
    let moment = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(time));
    Ok(SubAgentStatus {
        id: row.get(0)?,
        parent: row.get(1)?,
        depth: row.get(2)?,
        label: row.get(3)?,
        agent: row.get(4)?,
        agent_type: row.get(5)?,
        task: row.get(6)?,
        model: row.get(7)?,
        state: state.parse().map_err(unknown(8))?,
        background: row.get(9)?,
        created: time(row.get(10)?),
        started: moment(11)?,
        ended: moment(12)?,
        rounds: row.get(13)?,
        calls: row.get(14)?,
        input: number(row, 15)?,
        output: number(row, 16)?,
        cost_micros: row.get(17)?,
        answer: row.get(18)?,
        error: row.get(19)?,
        reported: row.get(20)?,
        is_open: row.get(21)?,
        sandbox: sandbox.parse().map_err(unknown(22))?,
        cwd: row.get::<_, Option<Vec<u8>>>(23)?.map(path),
        thinking: row.get::<_, Option<String>>(24)?.map(|level| level.parse().map_err(unknown(24))).transpose()?,
    })
}
