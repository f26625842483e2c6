//! Work that workers do, on the server. Every statement may be made twice: a connection that breaks leaves the caller to make it again.
//!
//! Times are the server's, so that clocks of workers do not count. A claim raises the fencing number; a write with a lower one changes
//! nothing. Work that was begun by a worker that is gone is begun again only if it is repeatable; else its outcome is unknown for good.

mod deposit;
mod fair;
mod roles;
mod said;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_postgres::Row;

pub use self::deposit::DepositedWork;
pub use self::roles::{TenantLogin, TenantRole};
pub use self::said::SaidMessage;
use super::database::Database;
use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use crate::backend::values::integer;
use crate::session_store::new_id;
use crate::{LeaseAnswer, NewWork, StoreError, TopicLoad, WorkClaim, WorkLease, WorkRecord, WorkState, WorkerRecord};

/// Work that was claimed this often and is not settled harms its workers.
const MOST_ATTEMPTS: i64 = 5;

const SUBMIT: &str = "INSERT INTO work (id, topic, body, repeatable, tenant, holds, state, made, deadline, story) \
     VALUES ($1, $2, $3, $4, $6, $7, 'queued', clock_timestamp(), clock_timestamp() + $5::bigint * interval '1 millisecond', \
     ARRAY[to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') || ' queued']) ON CONFLICT (id) DO NOTHING";
const LOCK: &str = "SELECT state, repeatable, attempts, worker, body, deadline < clock_timestamp(), \
     coalesce((extract(epoch FROM leased - clock_timestamp()) * 1000)::bigint, 0), cancelling, tenant, topic, \
     holds <> '' AND EXISTS (SELECT FROM work other WHERE other.holds = work.holds AND other.id <> work.id \
     AND (other.state IN ('claimed', 'started') OR (other.state = 'queued' AND other.made < work.made))) FROM work WHERE id = $1 FOR UPDATE";
const TAKE: &str = "UPDATE work SET state = 'claimed', fence = fence + 1, attempts = attempts + 1, worker = $2, token = $3, \
     leased = clock_timestamp() + $4::bigint * interval '1 millisecond' WHERE id = $1 RETURNING fence";
const START: &str = "UPDATE work SET state = 'started' WHERE id = $1 AND fence = $2 AND state IN ('claimed', 'started') \
     AND leased > clock_timestamp() AND NOT cancelling";
const RENEW: &str = "UPDATE work SET leased = clock_timestamp() + $3::bigint * interval '1 millisecond' \
     WHERE id = $1 AND fence = $2 AND state IN ('claimed', 'started') RETURNING cancelling";
/// A lease that has expired is still the newest as long as nobody else has taken one.
const FINISH: &str = "UPDATE work SET state = $3, outcome = $4, settled = clock_timestamp(), leased = NULL \
     WHERE id = $1 AND fence = $2 AND (state = 'started' OR state = $3)";
const GIVE_BACK: &str = "UPDATE work SET state = 'queued', leased = NULL, attempts = attempts - 1 \
     WHERE id = $1 AND fence = $2 AND state = 'claimed'";
/// What was begun and may be begun again goes to another worker. A worker that is stopped did not die of it, so the attempt does not count;
/// but the next one must not be the first.
const HAND_BACK: &str = "UPDATE work SET state = 'queued', leased = NULL, attempts = greatest(attempts - 1, 1) \
     WHERE id = $1 AND fence = $2 AND state = 'started' AND repeatable";
/// What was begun and did not come to an end here is another worker's turn; the attempt counts.
const PUT_BACK: &str = "UPDATE work SET state = 'queued', leased = NULL WHERE id = $1 AND fence = $2 AND state = 'started' AND repeatable";
const SETTLE: &str = "UPDATE work SET state = $2, fence = fence + 1, settled = clock_timestamp(), leased = NULL WHERE id = $1";
const TELL: &str = "UPDATE work SET story = story || (to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') || ' ' || $2::text) \
     WHERE id = $1 AND cardinality(story) < 200";
const READ: &str = "SELECT id, topic, state, attempts, worker, outcome, story, tenant FROM work";
const LOST: &str = "SELECT id, topic FROM work WHERE topic = ANY ($1) AND ((state = 'queued' AND made < clock_timestamp() - interval '5 seconds') \
     OR (state IN ('claimed', 'started') AND leased < clock_timestamp())) ORDER BY made LIMIT $2";
const HELD: &str = "SELECT holds FROM work WHERE holds <> '' AND state IN ('queued', 'claimed', 'started')";
const LOAD: &str = "SELECT topic, tenant, count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state <> 'queued'), \
     coalesce((extract(epoch FROM clock_timestamp() - min(made) FILTER (WHERE state = 'queued')) * 1000)::bigint, 0) \
     FROM work WHERE state IN ('queued', 'claimed', 'started') GROUP BY topic, tenant ORDER BY topic, tenant";
const ASIDE: &str = "INSERT INTO work (id, topic, body, repeatable, state, made, deadline, settled, story) \
     VALUES ($1, $2, $3, FALSE, 'aside', clock_timestamp(), clock_timestamp(), clock_timestamp(), ARRAY[$4::text]) ON CONFLICT (id) DO NOTHING";
/// Some at a time: a fleet that was not used for long must not lock them all.
const FORGET: &str = "DELETE FROM work WHERE id IN (SELECT id FROM work WHERE settled < clock_timestamp() - interval '7 days' \
     ORDER BY settled LIMIT 1000 FOR UPDATE SKIP LOCKED)";
/// Work that an attempt has taken.
const OWN: &str = "SELECT id, fence, body, attempts FROM work WHERE token = $1 AND state IN ('claimed', 'started')";
const PRESENT: &str = "INSERT INTO workers (name, token, host, version, workspace, topics, running, capacity, draining, since, seen) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp(), clock_timestamp()) ON CONFLICT (token) DO UPDATE SET \
     topics = excluded.topics, running = excluded.running, capacity = excluded.capacity, draining = excluded.draining, seen = excluded.seen";
/// No row if the calls of the day are as many as they may be. What the history has may be more than was counted here.
const COUNT_CALL: &str = "INSERT INTO counted_calls AS counted (day, calls) SELECT $1, $2::bigint + 1 WHERE $2::bigint < $3::bigint \
     ON CONFLICT (day) DO UPDATE SET calls = greatest(counted.calls, $2::bigint) + 1 WHERE greatest(counted.calls, $2::bigint) < $3::bigint \
     RETURNING calls";
const ADD_TIME: &str = "INSERT INTO processor_time (day, ticks) VALUES ($1, $2) \
     ON CONFLICT (day) DO UPDATE SET ticks = processor_time.ticks + excluded.ticks RETURNING ticks";
/// A worker says that it lives every few seconds.
const LIVING: &str = "SELECT name, token, host, version, workspace, topics, running, capacity, draining FROM workers \
     WHERE seen > clock_timestamp() - interval '20 seconds' ORDER BY name, token";

/// Work on the server of a [`PostgresLog`](crate::PostgresLog), which makes it.
#[derive(Debug, Clone)]
pub struct PostgresWork {
    database: Arc<Database>,
}

impl PostgresWork {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Which server and database, without the password.
    pub fn name(&self) -> &str {
        self.database.name()
    }

    /// Records work; the same id twice is one.
    pub async fn submit(&self, work: NewWork) -> Result<(), StoreError> {
        let submit = self.database.read(work, |link, work| {
            Box::pin(async move {
                let NewWork { id, topic, body, repeatable, patience, tenant, holds } = work;
                let patience = milliseconds(*patience);
                let values: super::link::Values<'_> =
                    &[&Text(id), &Text(topic), &Text(body), repeatable, &patience, &Text(tenant), &Text(holds)];
                execute(link, SUBMIT, values).await.map(drop)
            })
        });
        submit.await
    }

    /// Takes work for a worker, for as long as the lease lasts: the named one, or another of its topic whose tenant has less running.
    pub async fn claim(&self, id: &str, worker: &str, lease: Duration) -> Result<WorkClaim, StoreError> {
        let (id, worker, token) = (id.to_owned(), worker.to_owned(), new_id());
        let about = ClaimAttempt { id, worker, token, lease: milliseconds(lease), is_repeated: AtomicBool::new(false) };
        self.database.read(about, |link, about| Box::pin(in_transaction(link, about))).await
    }

    /// Says that the work begins: from now on it may have an effect. `false` if it must not.
    pub async fn start(&self, lease: &WorkLease) -> Result<bool, StoreError> {
        self.changed(lease, START).await
    }

    /// Gives back work that was not begun. `false` if the lease is lost.
    pub async fn give_back(&self, lease: &WorkLease) -> Result<bool, StoreError> {
        self.changed(lease, GIVE_BACK).await
    }

    /// Gives back work that was begun and may be begun again. `false` if it may not, or the lease is lost.
    pub async fn hand_back(&self, lease: &WorkLease) -> Result<bool, StoreError> {
        self.changed(lease, HAND_BACK).await
    }

    /// Gives back work that was begun, may be begun again, and failed through no fault of its own; the attempt counts. `false` if it may not,
    /// or the lease is lost.
    pub async fn put_back(&self, lease: &WorkLease) -> Result<bool, StoreError> {
        self.changed(lease, PUT_BACK).await
    }

    async fn changed(&self, lease: &WorkLease, sql: &'static str) -> Result<bool, StoreError> {
        let change = self.database.read((lease.clone(), sql), |link, (lease, sql)| {
            Box::pin(async move { Ok(execute(link, sql, &[&Text(&lease.id), &lease.fence]).await? > 0) })
        });
        change.await
    }

    /// Asks for more time.
    pub async fn renew(&self, lease: &WorkLease, time: Duration) -> Result<LeaseAnswer, StoreError> {
        let renew = self.database.read((lease.clone(), milliseconds(time)), |link, (lease, time)| {
            Box::pin(async move {
                Ok(match row(link, RENEW, &[&Text(&lease.id), &lease.fence, time]).await? {
                    None => LeaseAnswer::Lost,
                    Some(row) if row.flag(0)? => LeaseAnswer::Unwanted,
                    Some(_) => LeaseAnswer::Renewed,
                })
            })
        });
        renew.await
    }

    /// Stores what came of work; `false` if the lease is lost, and then nothing is stored. Whether it was ended early is said by the
    /// outcome's own words.
    pub async fn finish(&self, lease: &WorkLease, outcome: &str) -> Result<bool, StoreError> {
        let finish = self.database.read((lease.clone(), outcome.to_owned()), |link, (lease, outcome)| {
            Box::pin(async move { Ok(execute(link, FINISH, &[&Text(&lease.id), &lease.fence, &Text("done"), &Text(outcome)]).await? > 0) })
        });
        finish.await
    }

    /// Adds a line to the story of work.
    pub async fn tell(&self, id: &str, said: &str) -> Result<(), StoreError> {
        let tell = self.database.read((id.to_owned(), said.to_owned()), |link, (id, said)| Box::pin(tell(link, id, said)));
        tell.await
    }

    /// Takes work back: what nobody began is cancelled at once, what runs is ended by its worker. Returns how it stands.
    pub async fn cancel(&self, id: &str) -> Result<Option<WorkState>, StoreError> {
        let cancel = self.database.read(id.to_owned(), |link, id| {
            Box::pin(async move {
                let sql = "UPDATE work SET cancelling = TRUE, \
                     state = CASE WHEN state IN ('queued', 'claimed') THEN 'cancelled' ELSE state END, \
                     fence = CASE WHEN state IN ('queued', 'claimed') THEN fence + 1 ELSE fence END, \
                     settled = CASE WHEN state IN ('queued', 'claimed') THEN clock_timestamp() ELSE settled END \
                     WHERE id = $1 RETURNING state";
                row(link, sql, &[&Text(id)]).await?.map(|row| row.parse_text(0)).transpose()
            })
        });
        cancel.await
    }

    /// How work stands. Work whose worker is gone for longer than its lease is settled if it cannot be begun again, and so is work that
    /// nobody began in time.
    pub async fn look(&self, id: &str) -> Result<Option<WorkRecord>, StoreError> {
        let look = self.database.read(id.to_owned(), |link, id| {
            Box::pin(async move {
                in_one(link, settle_lost(link, id)).await?;
                row(link, &format!("{READ} WHERE id = $1"), &[&Text(id)]).await?.as_ref().map(record).transpose()
            })
        });
        look.await
    }

    /// Sets something aside that came as work and is none, with its story.
    pub async fn set_aside(&self, id: &str, topic: &str, body: &str, story: &str) -> Result<(), StoreError> {
        let about = [id, topic, body, story].map(str::to_owned);
        let aside = self.database.read(about, |link, about| {
            Box::pin(async move {
                let [id, topic, body, story] = about.each_ref().map(|text| Text(text));
                execute(link, ASIDE, &[&id, &topic, &body, &story]).await.map(drop)
            })
        });
        aside.await
    }

    /// Work in these states, the newest first, at most so much.
    pub async fn list(&self, states: Vec<WorkState>, limit: usize) -> Result<Vec<WorkRecord>, StoreError> {
        let list = self.database.read((states, integer(limit)), |link, (states, limit)| {
            Box::pin(async move {
                let states: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
                all(link, &format!("{READ} WHERE state = ANY ($1) ORDER BY made DESC, id LIMIT $2"), &[&states, limit], record).await
            })
        });
        list.await
    }

    /// Work of these topics that nobody has, although its message should have come: its id and topic, the oldest first.
    pub async fn list_lost(&self, topics: Vec<String>, limit: usize) -> Result<Vec<(String, String)>, StoreError> {
        let lost = self.database.read((topics, integer(limit)), |link, (topics, limit)| {
            Box::pin(async move { all(link, LOST, &[topics, limit], |row| Ok((row.text(0)?, row.text(1)?))).await })
        });
        lost.await
    }

    /// How much work waits and runs, by topic and tenant.
    pub async fn load(&self) -> Result<Vec<TopicLoad>, StoreError> {
        self.database.read((), |link, ()| Box::pin(async move { all(link, LOAD, &[], load).await })).await
    }

    /// How much work is in each state.
    pub async fn counts(&self) -> Result<Vec<(WorkState, u64)>, StoreError> {
        let sql = "SELECT state, count(*) FROM work GROUP BY state ORDER BY state";
        let count = |row: &Row| Ok((row.parse_text(0)?, row.number(1)?));
        let counts = self.database.read((sql, count), |link, (sql, count)| Box::pin(async move { all(link, sql, &[], count).await }));
        counts.await
    }

    /// What work that is not settled needs for itself alone.
    pub async fn list_exclusive(&self) -> Result<HashSet<String>, StoreError> {
        let held = self
            .database
            .read((), |link, ()| Box::pin(async move { Ok(all(link, HELD, &[], |row| row.text(0)).await?.into_iter().collect()) }));
        held.await
    }

    /// Says that a worker lives, what it takes, and how much it does. It also forgets work that was settled a week ago.
    pub async fn present(&self, worker: WorkerRecord) -> Result<(), StoreError> {
        self.database.read(worker, |link, worker| Box::pin(present(link, worker))).await
    }

    /// Says that a worker has ended.
    pub async fn leave(&self, token: &str) -> Result<(), StoreError> {
        let leave = self.database.read(token.to_owned(), |link, token| {
            Box::pin(async move { execute(link, "DELETE FROM workers WHERE token = $1", &[&Text(token)]).await.map(drop) })
        });
        leave.await
    }

    /// Adds processor time of commands to that of a day, in hundredths of a second; returns how much the day has, of all machines.
    pub async fn add_processor_time(&self, day: &str, ticks: u64) -> Result<u64, StoreError> {
        let add = self.database.read((day.to_owned(), integer(ticks)), |link, (day, ticks)| {
            Box::pin(async move { row(link, ADD_TIME, &[&Text(day), ticks]).await?.map_or(Ok(0), |row| row.number(0)) })
        });
        add.await
    }

    /// Counts one more call of a day, of which so many are known, unless that is more than its limit; whether it was counted.
    pub async fn count_call(&self, day: &str, known: u64, limit: u64) -> Result<bool, StoreError> {
        let count = self.database.read((day.to_owned(), integer(known), integer(limit)), |link, (day, known, limit)| {
            Box::pin(async move { Ok(row(link, COUNT_CALL, &[&Text(day), known, limit]).await?.is_some()) })
        });
        count.await
    }

    /// The workers that live.
    pub async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.database.read((), |link, ()| Box::pin(async move { all(link, LIVING, &[], worker).await })).await
    }
}

/// One attempt to claim; its token tells it from others when it is made again.
struct ClaimAttempt {
    id: String,
    worker: String,
    token: String,
    lease: i64,
    /// Whether the answer to it was lost, so that it is made again.
    is_repeated: AtomicBool,
}

/// Work as it is while its row is locked.
#[expect(clippy::struct_excessive_bools, reason = "the columns of a row")]
struct LockedWork {
    state: WorkState,
    repeatable: bool,
    attempts: i64,
    worker: Option<String>,
    body: String,
    is_late: bool,
    /// Milliseconds that the lease lasts.
    leased: i64,
    cancelling: bool,
    tenant: String,
    topic: String,
    /// Whether other work has what this needs, or is to have it first.
    is_blocked: bool,
}

async fn locked(link: &Link, id: &str) -> Result<Option<LockedWork>, Failure> {
    let Some(row) = row(link, LOCK, &[&Text(id)]).await? else { return Ok(None) };
    Ok(Some(LockedWork {
        state: row.parse_text(0)?,
        repeatable: row.flag(1)?,
        attempts: row.signed(2)?,
        worker: row.maybe_text(3)?,
        body: row.text(4)?,
        is_late: row.flag(5)?,
        leased: row.signed(6)?,
        cancelling: row.flag(7)?,
        tenant: row.text(8)?,
        topic: row.text(9)?,
        is_blocked: row.flag(10)?,
    }))
}

impl LockedWork {
    /// What becomes of it now that nobody holds it; `None` if it can be begun.
    fn settled(&self) -> Option<(WorkState, String)> {
        let worker = self.worker.as_deref().unwrap_or("nobody");
        match self.state {
            WorkState::Started if !self.repeatable => {
                Some((WorkState::Unknown, format!("{worker} began it and is gone; it is not done again, so its outcome is unknown")))
            }
            _ if self.cancelling => Some((WorkState::Cancelled, "nobody wants it any more".to_owned())),
            WorkState::Queued | WorkState::Claimed if self.is_late => Some((WorkState::Expired, "nobody began it in time".to_owned())),
            _ if self.attempts >= MOST_ATTEMPTS => {
                Some((WorkState::Aside, format!("{} workers began it and none came to an end: set aside", self.attempts)))
            }
            _ => None,
        }
    }
}

async fn tell(link: &Link, id: &str, said: &str) -> Result<(), Failure> {
    execute(link, TELL, &[&Text(id), &Text(said)]).await.map(drop)
}

async fn settle(link: &Link, id: &str, (state, said): &(WorkState, String)) -> Result<(), Failure> {
    execute(link, SETTLE, &[&Text(id), &Text(state.as_str())]).await?;
    tell(link, id, said).await
}

/// Settles work that nobody holds and that cannot be begun.
async fn settle_lost(link: &Link, id: &str) -> Result<(), Failure> {
    let Some(work) = locked(link, id).await?.filter(|work| !work.state.is_final() && work.leased <= 0) else { return Ok(()) };
    match work.settled() {
        Some(settled) => settle(link, id, &settled).await,
        None => Ok(()),
    }
}

async fn in_one<T>(link: &Link, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    link.batch_execute("BEGIN").await?;
    let done = work.await;
    link.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    done
}

async fn in_transaction(link: &Link, about: &ClaimAttempt) -> Result<WorkClaim, Failure> {
    in_one(link, claim(link, about)).await
}

async fn claim(link: &Link, about: &ClaimAttempt) -> Result<WorkClaim, Failure> {
    if about.is_repeated.swap(true, Ordering::Relaxed)
        && let Some(taken) = row(link, OWN, &[&Text(&about.token)]).await?
    {
        // This attempt was made before, and its answer was lost. It may have taken other work than it asked for.
        let lease = WorkLease { id: taken.text(0)?, fence: taken.signed(1)? };
        return Ok(WorkClaim::Taken { lease, body: taken.text(2)?, attempt: taken.number(3)? });
    }
    let Some(work) = locked(link, &about.id).await? else { return Ok(WorkClaim::Missing) };
    let is_free = work.state == WorkState::Queued || (!work.state.is_final() && work.leased <= 0);
    let settled = if is_free { work.settled() } else { None };
    if let Some(settled) = &settled {
        settle(link, &about.id, settled).await?;
    }
    let is_free = is_free && settled.is_none() && !(work.state == WorkState::Queued && work.is_blocked);
    // A tenant that has less running comes first. Its own message finds this work then.
    let rival = match (is_free, work.state) {
        (true, WorkState::Queued) => fair::waiting(link, &work.topic, Some(&work.tenant)).await?,
        // It was begun before: it does not wait again.
        (true, _) => None,
        (false, _) => fair::waiting(link, &work.topic, None).await?,
    };
    if let Some(id) = rival
        && let Some(other) = locked(link, &id).await?
    {
        return take(link, about, &id, other).await;
    }
    match settled {
        _ if is_free => take(link, about, &about.id, work).await,
        Some((state, _)) => Ok(WorkClaim::Settled(state)),
        None if work.state.is_final() => Ok(WorkClaim::Settled(work.state)),
        None => Ok(WorkClaim::Held(Duration::from_millis(work.leased.unsigned_abs()))),
    }
}

async fn take(link: &Link, about: &ClaimAttempt, id: &str, work: LockedWork) -> Result<WorkClaim, Failure> {
    let ClaimAttempt { worker, token, lease, .. } = about;
    let taken = row(link, TAKE, &[&Text(id), &Text(worker), &Text(token), lease]).await?;
    let fence = taken.map_or(Ok(0), |row| row.signed(0))?;
    let said = match (&work.state, &work.worker) {
        (WorkState::Queued, _) | (_, None) => format!("{worker} has it, fence {fence}"),
        (state, Some(before)) => format!("{worker} has it, fence {fence}, after the lease of {before} has expired ({})", state.as_str()),
    };
    tell(link, id, &said).await?;
    let attempt = work.attempts.unsigned_abs() + 1;
    Ok(WorkClaim::Taken { lease: WorkLease { id: id.to_owned(), fence }, body: work.body, attempt })
}

fn record(row: &Row) -> Result<WorkRecord, Failure> {
    Ok(WorkRecord {
        id: row.text(0)?,
        topic: row.text(1)?,
        state: row.parse_text(2)?,
        attempts: row.number(3)?,
        worker: row.maybe_text(4)?,
        outcome: row.maybe_text(5)?,
        story: row.try_get(6)?,
        tenant: row.text(7)?,
    })
}

async fn present(link: &Link, worker: &WorkerRecord) -> Result<(), Failure> {
    let WorkerRecord { name, token, host, version, workspace, topics, running, capacity, draining } = worker;
    execute(link, "DELETE FROM workers WHERE seen < clock_timestamp() - interval '1 hour'", &[]).await?;
    execute(link, FORGET, &[]).await?;
    let topics: Vec<Text<'_>> = topics.iter().map(|topic| Text(topic)).collect();
    let (running, capacity) = (integer(*running), integer(*capacity));
    let values: super::link::Values<'_> =
        &[&Text(name), &Text(token), &Text(host), &Text(version), &Text(workspace), &topics, &running, &capacity, draining];
    execute(link, PRESENT, values).await.map(drop)
}

fn worker(row: &Row) -> Result<WorkerRecord, Failure> {
    Ok(WorkerRecord {
        name: row.text(0)?,
        token: row.text(1)?,
        host: row.text(2)?,
        version: row.text(3)?,
        workspace: row.text(4)?,
        topics: row.try_get(5)?,
        running: row.number(6)?,
        capacity: row.number(7)?,
        draining: row.flag(8)?,
    })
}

fn load(row: &Row) -> Result<TopicLoad, Failure> {
    let oldest = Duration::from_millis(row.number(4)?);
    Ok(TopicLoad { topic: row.text(0)?, tenant: row.text(1)?, queued: row.number(2)?, running: row.number(3)?, oldest })
}

fn milliseconds(time: Duration) -> i64 {
    integer(time.as_millis())
}
