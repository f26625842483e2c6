//! One connection, its statements and rows; and texts as this server takes them.

use std::borrow::Cow;
use std::error::Error;
use std::path::PathBuf;
use std::time::SystemTime;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::failure::Failure;
use crate::backend::values;

/// A connection that knows its statements.
pub(super) type Link = deadpool_postgres::ClientWrapper;
/// The values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// How many rows it changed.
pub(super) async fn execute(link: &Link, sql: &str, values: Values<'_>) -> Result<u64, Failure> {
    Ok(link.execute(&link.prepare_cached(sql).await?, values).await?)
}

pub(super) async fn rows(link: &Link, sql: &str, values: Values<'_>) -> Result<Vec<Row>, Failure> {
    Ok(link.query(&link.prepare_cached(sql).await?, values).await?)
}

/// The first row.
pub(super) async fn row(link: &Link, sql: &str, values: Values<'_>) -> Result<Option<Row>, Failure> {
    Ok(rows(link, sql, values).await?.into_iter().next())
}

/// The rows, each read.
pub(super) async fn all<T>(
    link: &Link,
    sql: &str,
    values: Values<'_>,
    read: impl Fn(&Row) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    rows(link, sql, values).await?.iter().map(read).collect()
}

/// Stands before what follows; the server takes no NUL in a text.
const ESCAPE: char = '\u{f8ff}';

/// A text as the server takes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl ToSql for Text<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(encoded(self.0).as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TEXT || *kind == Type::VARCHAR
    }

    to_sql_checked!();
}

fn encoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    // The escape first, so that it means one thing.
    Cow::Owned(text.replace(ESCAPE, "\u{f8ff}1").replace('\0', "\u{f8ff}0"))
}

fn decoded(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    text.replace("\u{f8ff}0", "\0").replace("\u{f8ff}1", "\u{f8ff}")
}

/// Reads columns.
pub(super) trait Columns {
    fn text(&self, column: usize) -> Result<String, Failure>;
    fn maybe_text(&self, column: usize) -> Result<Option<String>, Failure>;
    fn number(&self, column: usize) -> Result<u64, Failure>;
    fn small(&self, column: usize) -> Result<u32, Failure>;
    fn signed(&self, column: usize) -> Result<i64, Failure>;
    fn maybe_signed(&self, column: usize) -> Result<Option<i64>, Failure>;
    fn flag(&self, column: usize) -> Result<bool, Failure>;
    fn time(&self, column: usize) -> Result<SystemTime, Failure>;
    fn maybe_time(&self, column: usize) -> Result<Option<SystemTime>, Failure>;
    fn path(&self, column: usize) -> Result<PathBuf, Failure>;
    fn maybe_path(&self, column: usize) -> Result<Option<PathBuf>, Failure>;
    /// Texts of which this program knows some.
    fn parse_text<T: std::str::FromStr<Err: std::fmt::Display>>(&self, column: usize) -> Result<T, Failure>;
    fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, Failure>;
}

impl Columns for Row {
    fn text(&self, column: usize) -> Result<String, Failure> {
        Ok(decoded(self.try_get(column)?))
    }

    fn maybe_text(&self, column: usize) -> Result<Option<String>, Failure> {
        Ok(self.try_get::<_, Option<String>>(column)?.map(decoded))
    }

    fn number(&self, column: usize) -> Result<u64, Failure> {
        Ok(self.signed(column)?.unsigned_abs())
    }

    fn small(&self, column: usize) -> Result<u32, Failure> {
        Ok(u32::try_from(self.number(column)?).unwrap_or(u32::MAX))
    }

    fn signed(&self, column: usize) -> Result<i64, Failure> {
        Ok(self.try_get(column)?)
    }

    fn maybe_signed(&self, column: usize) -> Result<Option<i64>, Failure> {
        Ok(self.try_get(column)?)
    }

    fn flag(&self, column: usize) -> Result<bool, Failure> {
        Ok(self.try_get(column)?)
    }

    fn time(&self, column: usize) -> Result<SystemTime, Failure> {
        Ok(values::time(self.signed(column)?))
    }

    fn maybe_time(&self, column: usize) -> Result<Option<SystemTime>, Failure> {
        Ok(self.maybe_signed(column)?.map(values::time))
    }

    fn path(&self, column: usize) -> Result<PathBuf, Failure> {
        Ok(values::path(self.try_get(column)?))
    }

    fn maybe_path(&self, column: usize) -> Result<Option<PathBuf>, Failure> {
        Ok(self.try_get::<_, Option<Vec<u8>>>(column)?.map(values::path))
    }

    fn parse_text<T: std::str::FromStr<Err: std::fmt::Display>>(&self, column: usize) -> Result<T, Failure> {
        self.text(column)?.parse().map_err(|error| Failure::unreadable(self.columns()[column].name(), error))
    }

    fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, Failure> {
        serde_json::from_str(&self.text(column)?).map_err(|error| Failure::unreadable(self.columns()[column].name(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_has_a_nul() {
        for text in ["", "plain", "\0", "a\0b\0", "\u{f8ff}", "\u{f8ff}0", "\u{f8ff}1", "\u{f8ff}\0\u{f8ff}0\u{f8ff}1\0", "0\u{f8ff}"] {
            let stored = encoded(text).into_owned();
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(decoded(stored), text);
        }
    }
}
