//! Blobs in a table, in pieces, so that memory does not depend on their size.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use haft_contract::BoxFuture;

use super::database::Database;
use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use crate::backend::values::integer;
use crate::{BlobObject, BlobObjects, StoreError};

/// Bytes of one row.
const PIECE: usize = 1 << 20;

const PUT: &str = "INSERT INTO blobs (key, piece, content) VALUES ($1, $2, $3)";
const GET: &str = "SELECT content FROM blobs WHERE key = $1 AND piece = $2";
const LIST: &str = "SELECT key, (extract(epoch FROM min(written)) * 1000000000)::bigint, sum(octet_length(content))::bigint FROM blobs \
     WHERE starts_with(key, $1) GROUP BY key ORDER BY key LIMIT $2";

/// [`BlobObjects`] on the server of a [`PostgresLog`](crate::PostgresLog), which makes it.
#[derive(Debug, Clone)]
pub struct PostgresObjects {
    database: Arc<Database>,
}

impl PostgresObjects {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl BlobObjects for PostgresObjects {
    fn put<'a>(&'a self, key: &'a str, content: &'a Path) -> BoxFuture<'a, Result<(), StoreError>> {
        let about = (key.to_owned(), content.to_owned());
        Box::pin(self.database.read(about, |link, (key, content)| Box::pin(put(link, key, content))))
    }

    fn get<'a>(&'a self, key: &'a str, file: &'a mut std::fs::File) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            for piece in 0.. {
                let about = (key.to_owned(), piece);
                let found = self.database.read(about, |link, (key, piece)| Box::pin(get(link, key, *piece))).await?;
                let Some(content) = found else { return Ok(piece > 0) };
                file.write_all(&content).map_err(|error| StoreError::io(Path::new(key), error))?;
            }
            Ok(true)
        })
    }

    fn remove(&self, keys: Vec<String>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.database.read(keys, |link, keys| {
            Box::pin(async move {
                let keys: Vec<Text<'_>> = keys.iter().map(|key| Text(key)).collect();
                execute(link, "DELETE FROM blobs WHERE key = ANY($1)", &[&keys]).await.map(drop)
            })
        }))
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<BlobObject>, StoreError>> {
        Box::pin(self.database.read((prefix.to_owned(), integer(limit)), |link, (prefix, limit)| {
            let read = |row: &tokio_postgres::Row| Ok(BlobObject { key: row.text(0)?, written: row.time(1)?, bytes: row.number(2)? });
            Box::pin(async move { all(link, LIST, &[&Text(prefix), limit], read).await })
        }))
    }
}

/// All of it or nothing; an empty one has one empty piece.
async fn put(link: &Link, key: &str, content: &Path) -> Result<(), Failure> {
    let unreadable = |error| Failure::Store(StoreError::io(content, error));
    let mut file = std::fs::File::open(content).map_err(unreadable)?;
    link.batch_execute("BEGIN").await?;
    let stored = async {
        execute(link, "DELETE FROM blobs WHERE key = $1", &[&Text(key)]).await?;
        let mut piece = Vec::new();
        for number in 0_i32.. {
            piece.clear();
            Read::by_ref(&mut file).take(PIECE as u64).read_to_end(&mut piece).map_err(unreadable)?;
            if piece.is_empty() && number > 0 {
                break;
            }
            execute(link, PUT, &[&Text(key), &number, &piece]).await?;
        }
        Ok::<(), Failure>(())
    };
    let stored = stored.await;
    link.batch_execute(if stored.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    stored
}

async fn get(link: &Link, key: &str, piece: i32) -> Result<Option<Vec<u8>>, Failure> {
    Ok(row(link, GET, &[&Text(key), &piece]).await?.map(|row| row.try_get(0)).transpose()?)
}
