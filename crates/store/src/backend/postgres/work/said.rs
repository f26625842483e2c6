//! What users say to a turn that a worker runs. It stays here until the conversation has it, so that neither a worker nor a server that is
//! killed takes it along.

use super::super::link::{Columns, Text, all, execute};
use super::PostgresWork;
use crate::StoreError;

const SAY: &str = "INSERT INTO said (id, session, body, made) VALUES ($1, $2, $3, clock_timestamp()) ON CONFLICT (id) DO NOTHING";
const UNHEARD: &str = "SELECT id, body FROM said WHERE session = $1 ORDER BY made, id";
const HEARD: &str = "DELETE FROM said WHERE id = ANY ($1)";
const FORGET: &str = "DELETE FROM said WHERE made < clock_timestamp() - interval '7 days'";

/// A message of the user that the model may not have yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidMessage {
    /// Its id.
    pub id: String,
    /// What the user said.
    pub text: String,
}

impl PostgresWork {
    /// Stores what the user says to the turn of a session.
    pub async fn say(&self, session: &str, said: &SaidMessage) -> Result<(), StoreError> {
        let say = self.database.read((session.to_owned(), said.clone()), |link, (session, said)| {
            Box::pin(async move {
                execute(link, FORGET, &[]).await?;
                execute(link, SAY, &[&Text(&said.id), &Text(session), &Text(&said.text)]).await.map(drop)
            })
        });
        say.await
    }

    /// What the user said to a session and is not removed yet, in its order.
    pub async fn list_said(&self, session: &str) -> Result<Vec<SaidMessage>, StoreError> {
        let list = self.database.read(session.to_owned(), |link, session| {
            Box::pin(
                async move { all(link, UNHEARD, &[&Text(session)], |row| Ok(SaidMessage { id: row.text(0)?, text: row.text(1)? })).await },
            )
        });
        list.await
    }

    /// Removes what the conversation has.
    pub async fn remove_said(&self, ids: Vec<String>) -> Result<(), StoreError> {
        self.database.read(ids, |link, ids| Box::pin(async move { execute(link, HEARD, &[ids]).await.map(drop) })).await
    }
}
