//! Work of tenants: what is to be done and what came of it lie in the schema of the tenant, and the queue's row, in the operator's schema,
//! names them alone. The fencing number is that of the queue's row.

use std::collections::HashSet;

use super::super::link::{Columns, Text, all, execute, row};
use super::PostgresWork;
use crate::StoreError;

/// No worker takes this topic.
const TOPIC: &str = "deposit";

const DEPOSIT: &str = "INSERT INTO work (id, topic, body, repeatable, state, made, deadline) \
     VALUES ($1, $3, $2, TRUE, 'queued', clock_timestamp(), clock_timestamp()) ON CONFLICT (id) DO NOTHING";
/// Those of a week ago, settled or not: nobody waits for them any more.
const FORGET: &str = "DELETE FROM work WHERE id IN (SELECT id FROM work WHERE state IN ('queued', 'done') AND topic = $1 \
     AND made < clock_timestamp() - interval '7 days' ORDER BY made LIMIT 100 FOR UPDATE SKIP LOCKED)";
const OPEN: &str = "UPDATE work SET fence = $2 WHERE id = $1 AND topic = $3 AND fence <= $2 RETURNING body, outcome";
const SETTLE: &str = "UPDATE work SET state = 'done', outcome = $3, settled = clock_timestamp() \
     WHERE id = $1 AND topic = $4 AND fence = $2 AND (outcome IS NULL OR outcome = $3)";
/// What waits is cancelled at once, what runs is ended by its worker.
const CANCEL_ALL: &str = "UPDATE work SET cancelling = TRUE, \
     state = CASE WHEN state IN ('queued', 'claimed') THEN 'cancelled' ELSE state END, \
     fence = CASE WHEN state IN ('queued', 'claimed') THEN fence + 1 ELSE fence END, \
     settled = CASE WHEN state IN ('queued', 'claimed') THEN clock_timestamp() ELSE settled END \
     WHERE state IN ('queued', 'claimed', 'started') AND starts_with(id, $1)";
const BODIES: &str = "SELECT id, body FROM work WHERE state IN ('queued', 'claimed', 'started') AND starts_with(id, $1)";
const UNSETTLED: &str = "SELECT count(*) FROM work WHERE state IN ('queued', 'claimed', 'started') AND starts_with(id, $1)";

/// Work that lies in the schema of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositedWork {
    /// What is to be done.
    pub body: String,
    /// What came of it, if it is done.
    pub outcome: Option<String>,
}

impl PostgresWork {
    /// Stores what is to be done, before the queue names it. The same id twice is one.
    pub async fn deposit(&self, id: &str, body: &str) -> Result<(), StoreError> {
        let deposit = self.database.read([id, body].map(str::to_owned), |link, [id, body]| {
            Box::pin(async move {
                execute(link, FORGET, &[&Text(TOPIC)]).await?;
                execute(link, DEPOSIT, &[&Text(id), &Text(body), &Text(TOPIC)]).await.map(drop)
            })
        });
        deposit.await
    }

    /// Reads what is to be done, and shuts out workers with a lower fencing number; `None` if there is no such work, or a later claim has it.
    pub async fn open_deposit(&self, id: &str, fence: i64) -> Result<Option<DepositedWork>, StoreError> {
        let open = self.database.read((id.to_owned(), fence), |link, (id, fence)| {
            Box::pin(async move {
                let found = row(link, OPEN, &[&Text(id), fence, &Text(TOPIC)]).await?;
                found.map(|row| Ok(DepositedWork { body: row.text(0)?, outcome: row.maybe_text(1)? })).transpose()
            })
        });
        open.await
    }

    /// Stores what came of it; `false` if a later claim has it, and then nothing is stored.
    pub async fn settle_deposit(&self, id: &str, fence: i64, outcome: &str) -> Result<bool, StoreError> {
        let settle = self.database.read((id.to_owned(), fence, outcome.to_owned()), |link, (id, fence, outcome)| {
            Box::pin(async move { Ok(execute(link, SETTLE, &[&Text(id), fence, &Text(outcome), &Text(TOPIC)]).await? > 0) })
        });
        settle.await
    }

    /// Forgets it.
    pub async fn remove_deposit(&self, id: &str) -> Result<(), StoreError> {
        let remove = self.database.read(id.to_owned(), |link, id| {
            Box::pin(
                async move { execute(link, "DELETE FROM work WHERE id = $1 AND topic = $2", &[&Text(id), &Text(TOPIC)]).await.map(drop) },
            )
        });
        remove.await
    }

    /// What came of it; `None` if nothing is known.
    pub async fn deposit_outcome(&self, id: &str) -> Result<Option<String>, StoreError> {
        let outcome = self.database.read(id.to_owned(), |link, id| {
            Box::pin(async move {
                let found = row(link, "SELECT outcome FROM work WHERE id = $1", &[&Text(id)]).await?;
                Ok(found.map(|row| row.maybe_text(0)).transpose()?.flatten())
            })
        });
        outcome.await
    }

    /// Takes back all work whose id begins so.
    pub async fn cancel_all(&self, prefix: &str) -> Result<(), StoreError> {
        let cancel = self
            .database
            .read(prefix.to_owned(), |link, prefix| Box::pin(async move { execute(link, CANCEL_ALL, &[&Text(prefix)]).await.map(drop) }));
        cancel.await
    }

    /// What is to be done, of all work whose id begins so and that has not come to its end: its id and its body.
    pub async fn list_bodies(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        let list = self.database.read(prefix.to_owned(), |link, prefix| {
            Box::pin(async move { all(link, BODIES, &[&Text(prefix)], |row| Ok((row.text(0)?, row.text(1)?))).await })
        });
        list.await
    }

    /// Says anew what is to be done, for who claims the work from now on. Nothing changes if it is not as it was `before`.
    pub async fn replace_body(&self, id: &str, before: &str, body: &str) -> Result<(), StoreError> {
        let replace = self.database.read([id, before, body].map(str::to_owned), |link, texts| {
            Box::pin(async move {
                let [id, before, body] = texts.each_ref().map(|text| Text(text));
                execute(link, "UPDATE work SET body = $3 WHERE id = $1 AND body = $2", &[&id, &before, &body]).await.map(drop)
            })
        });
        replace.await
    }

    /// How much work whose id begins so is not settled.
    pub async fn count_unsettled(&self, prefix: &str) -> Result<u64, StoreError> {
        let count = self.database.read(prefix.to_owned(), |link, prefix| {
            Box::pin(async move { row(link, UNSETTLED, &[&Text(prefix)]).await?.map_or(Ok(0), |row| row.number(0)) })
        });
        count.await
    }

    /// Which of these schemas the database has.
    pub async fn list_schemas(&self, names: Vec<String>) -> Result<HashSet<String>, StoreError> {
        let list = self.database.read(names, |link, names| {
            Box::pin(async move {
                let sql = "SELECT nspname::text FROM pg_namespace WHERE nspname = ANY ($1)";
                Ok(all(link, sql, &[names], |row| row.text(0)).await?.into_iter().collect())
            })
        });
        list.await
    }
}
