//! Sub-agents as rows. One that has not ended names its process; if that is gone, so is the sub-agent.

use std::time::SystemTime;

use haft_contract::ports::{SubAgentStatus, ThinkingLevel};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use super::presence::Presences;
use super::session_rows::require;
use crate::UsageSum;
use crate::backend::sqlite::INTERRUPTED;
use crate::backend::values::{bytes, integer, nanoseconds_since_1970};

const COLUMNS: &str = "session, parent, depth, label, agent, agent_type, task, model, state, background, created, started, ended, rounds, \
     calls, input, output, cost_micros, answer, error, reported, is_open, sandbox, cwd, thinking";

const PUT: &str = "INSERT INTO sub_agents (session, parent, depth, label, agent, agent_type, task, model, state, background, created, started, \
     ended, rounds, calls, input, output, cost_micros, answer, error, reported, is_open, sandbox, cwd, thinking, presence) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26) \
     ON CONFLICT (session) DO UPDATE SET parent = excluded.parent, depth = excluded.depth, label = excluded.label, agent = excluded.agent, \
     agent_type = excluded.agent_type, task = excluded.task, model = excluded.model, state = excluded.state, \
     background = excluded.background, created = excluded.created, started = excluded.started, ended = excluded.ended, \
     rounds = excluded.rounds, calls = excluded.calls, input = excluded.input, output = excluded.output, \
     cost_micros = excluded.cost_micros, answer = excluded.answer, error = excluded.error, reported = excluded.reported, \
     is_open = excluded.is_open, sandbox = excluded.sandbox, cwd = excluded.cwd, thinking = excluded.thinking, \
     presence = excluded.presence";

const ACTIVE: &str = "SELECT session, presence FROM sub_agents WHERE presence IS NOT NULL ORDER BY session FOR UPDATE";

const INTERRUPT: &str =
    "UPDATE sub_agents SET state = 'failed', error = $2, ended = $3, presence = NULL, reported = FALSE WHERE session = $1";

/// The session, and every session of a sub-agent beneath it.
const TREE: &str = "WITH RECURSIVE tree (id) AS (SELECT $1::text COLLATE \"C\" UNION SELECT session FROM sub_agents JOIN tree \
     ON parent = tree.id) SELECT id FROM tree";

pub(super) async fn put(link: &Link, status: &SubAgentStatus, presence: &str) -> Result<(), Failure> {
    require(link, &status.id).await?;
    let values: [&(dyn ToSql + Sync); 26] = [
        &Text(&status.id),
        &Text(&status.parent),
        &i64::from(status.depth),
        &Text(&status.label),
        &Text(&status.agent),
        &Text(&status.agent_type),
        &Text(&status.task),
        &Text(&status.model),
        &status.state.as_str(),
        &status.background,
        &nanoseconds_since_1970(status.created),
        &status.started.map(nanoseconds_since_1970),
        &status.ended.map(nanoseconds_since_1970),
        &i64::from(status.rounds),
        &i64::from(status.calls),
        &integer(status.input),
        &integer(status.output),
        &status.cost_micros,
        &status.answer.as_deref().map(Text),
        &status.error.as_deref().map(Text),
        &status.reported,
        &status.is_open,
        &status.sandbox.as_str(),
        &status.cwd.as_deref().map(bytes),
        &status.thinking.map(ThinkingLevel::as_str),
        &status.state.is_active().then_some(Text(presence)),
    ];
    execute(link, PUT, &values).await.map(drop)
}

pub(super) async fn find(link: &Link, session: &str) -> Result<Option<SubAgentStatus>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM sub_agents WHERE session = $1");
    row(link, &sql, &[&Text(session)]).await?.as_ref().map(status).transpose()
}

/// Oldest first: ids are sorted by time.
pub(super) async fn children(link: &Link, parent: &str) -> Result<Vec<SubAgentStatus>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM sub_agents WHERE parent = $1 ORDER BY session");
    all(link, &sql, &[&Text(parent)], status).await
}

/// Ends those whose process is gone; says how many.
pub(super) async fn interrupt(link: &Link, presences: &Presences, now: SystemTime) -> Result<u64, Failure> {
    let mut count = 0;
    for (session, presence) in all(link, ACTIVE, &[], |row| Ok((row.text(0)?, row.text(1)?))).await? {
        if !presences.is_alive(link, &presence).await? {
            execute(link, INTERRUPT, &[&Text(&session), &INTERRUPTED, &nanoseconds_since_1970(now)]).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// Whether a sub-agent may have been interrupted: one that another process runs, or ran.
pub(super) async fn has_foreign(link: &Link, mine: Option<&str>) -> Result<bool, Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sub_agents WHERE presence IS NOT NULL AND presence IS DISTINCT FROM $1)";
    row(link, sql, &[&mine.map(Text)]).await?.map_or(Ok(false), |row| row.flag(0))
}

/// What a session and all beneath it used.
pub(super) async fn tree_usage(link: &Link, session: &str) -> Result<UsageSum, Failure> {
    super::usage::sum(link, &format!("session IN ({TREE})"), session).await
}

fn status(row: &Row) -> Result<SubAgentStatus, Failure> {
    Ok(SubAgentStatus {
        id: row.text(0)?,
        parent: row.text(1)?,
        depth: row.small(2)?,
        label: row.text(3)?,
        agent: row.text(4)?,
        agent_type: row.text(5)?,
        task: row.text(6)?,
        model: row.text(7)?,
        state: row.parse_text(8)?,
        background: row.flag(9)?,
        created: row.time(10)?,
        started: row.maybe_time(11)?,
        ended: row.maybe_time(12)?,
        rounds: row.small(13)?,
        calls: row.small(14)?,
        input: row.number(15)?,
        output: row.number(16)?,
        cost_micros: row.maybe_signed(17)?,
        answer: row.maybe_text(18)?,
        error: row.maybe_text(19)?,
        reported: row.flag(20)?,
        is_open: row.flag(21)?,
        sandbox: row.parse_text(22)?,
        cwd: row.maybe_path(23)?,
        thinking: row.maybe_text(24)?.map(|_| row.parse_text(24)).transpose()?,
    })
}
