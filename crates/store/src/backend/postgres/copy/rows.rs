//! Rows on their way: read from a file, written to a server, and hashed alike on both sides.

use std::error::Error;

use futures_util::{StreamExt, pin_mut};
use ring::digest::{Context, SHA256};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::super::failure::Failure;
use super::super::link::{Columns, Link, Text, all};

/// A column, and what the server keeps in it.
#[derive(Debug)]
pub(super) struct CopiedColumn {
    name: String,
    kind: ColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Text,
    Number,
    Flag,
    Bytes,
}

/// A value between the two.
#[derive(Debug)]
pub(super) enum CopiedValue {
    Null,
    Text(String),
    Number(i64),
    Flag(bool),
    Bytes(Vec<u8>),
}

impl CopiedValue {
    /// The same bytes for the same value, and no others.
    fn hash(&self, context: &mut Context) {
        let mut part = |tag: u8, bytes: &[u8]| {
            context.update(&[tag]);
            context.update(&(bytes.len() as u64).to_le_bytes());
            context.update(bytes);
        };
        match self {
            Self::Null => part(0, &[]),
            Self::Text(text) => part(1, text.as_bytes()),
            Self::Number(number) => part(2, &number.to_le_bytes()),
            Self::Flag(flag) => part(3, &[u8::from(*flag)]),
            Self::Bytes(bytes) => part(4, bytes),
        }
    }
}

impl ToSql for CopiedValue {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => Text(text).to_sql(kind, out),
            Self::Number(number) => number.to_sql(kind, out),
            Self::Flag(flag) => flag.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

pub(super) fn parameters(values: &[CopiedValue]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// How many rows there are, and the sum of their hashes, which does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TableSum {
    pub(super) count: u64,
    sum: [u64; 4],
}

impl TableSum {
    fn add_hash(&mut self, context: Context) {
        self.count += 1;
        let digest = context.finish();
        let (words, _) = digest.as_ref().as_chunks::<8>();
        self.sum.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(u64::from_le_bytes(*word)));
    }

    /// Adds an entry of these parts.
    pub(super) fn add<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>) {
        let mut context = Context::new(&SHA256);
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        self.add_hash(context);
    }

    pub(super) fn hash(&self) -> String {
        let [one, two, three, four] = self.sum;
        format!("{one:016x}{two:016x}{three:016x}{four:016x}")
    }
}

/// The columns of a table, which both sides have.
pub(super) async fn columns_of(link: &Link, table: &str) -> Result<Vec<CopiedColumn>, Failure> {
    let sql = "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = current_schema() \
               AND table_name = $1 ORDER BY ordinal_position";
    all(link, sql, &[&table], |row| {
        let (name, kind) = (row.text(0)?, row.text(1)?);
        let kind = match kind.as_str() {
            "text" => ColumnKind::Text,
            "boolean" => ColumnKind::Flag,
            "bytea" => ColumnKind::Bytes,
            _ => ColumnKind::Number,
        };
        Ok(CopiedColumn { name, kind })
    })
    .await
}

fn names(columns: &[CopiedColumn]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) fn insert_sql(table: &str, columns: &[CopiedColumn]) -> String {
    let values = (1..=columns.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
    format!("INSERT INTO {table} ({}) VALUES ({values})", names(columns))
}

/// Rows of the file after a row number, in order, each with its number.
pub(super) fn file_rows(
    source: &Connection,
    table: &str,
    columns: &[CopiedColumn],
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, Vec<CopiedValue>)>, Failure> {
    let sql = format!("SELECT rowid, {} FROM {table} WHERE rowid > ?1 ORDER BY rowid LIMIT {limit}", names(columns));
    let mut statement = source.prepare_cached(&sql)?;
    let rows = statement.query_map([after], |row| Ok((row.get(0)?, file_row(row, columns, 1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn file_row(row: &rusqlite::Row<'_>, columns: &[CopiedColumn], first: usize) -> rusqlite::Result<Vec<CopiedValue>> {
    let value = |(at, column): (usize, &CopiedColumn)| {
        Ok(match (row.get_ref(at)?, column.kind) {
            (ValueRef::Null, _) => CopiedValue::Null,
            (ValueRef::Integer(number), ColumnKind::Flag) => CopiedValue::Flag(number != 0),
            (ValueRef::Integer(number), _) => CopiedValue::Number(number),
            (ValueRef::Blob(bytes), _) => CopiedValue::Bytes(bytes.to_vec()),
            (ValueRef::Text(text), ColumnKind::Bytes) => CopiedValue::Bytes(text.to_vec()),
            (ValueRef::Text(text), _) => CopiedValue::Text(String::from_utf8_lossy(text).into_owned()),
            (ValueRef::Real(number), _) => CopiedValue::Text(number.to_string()),
        })
    };
    (first..).zip(columns).map(value).collect()
}

pub(super) fn file_sum(source: &Connection, table: &str, columns: &[CopiedColumn]) -> Result<TableSum, Failure> {
    let mut statement = source.prepare(&format!("SELECT {} FROM {table}", names(columns)))?;
    let mut rows = statement.query([])?;
    let mut sum = TableSum::default();
    while let Some(row) = rows.next()? {
        let mut context = Context::new(&SHA256);
        file_row(row, columns, 0)?.iter().for_each(|value| value.hash(&mut context));
        sum.add_hash(context);
    }
    Ok(sum)
}

pub(super) async fn server_sum(link: &Link, table: &str, columns: &[CopiedColumn]) -> Result<TableSum, Failure> {
    let none: [&(dyn ToSql + Sync); 0] = [];
    let rows = link.query_raw(&format!("SELECT {} FROM {table}", names(columns)), none).await?;
    pin_mut!(rows);
    let mut sum = TableSum::default();
    while let Some(row) = rows.next().await {
        let (row, mut context) = (row?, Context::new(&SHA256));
        for (at, column) in columns.iter().enumerate() {
            let value = match column.kind {
                ColumnKind::Text => row.maybe_text(at)?.map(CopiedValue::Text),
                ColumnKind::Number => row.maybe_signed(at)?.map(CopiedValue::Number),
                ColumnKind::Flag => row.try_get::<_, Option<bool>>(at)?.map(CopiedValue::Flag),
                ColumnKind::Bytes => row.try_get::<_, Option<Vec<u8>>>(at)?.map(CopiedValue::Bytes),
            };
            value.unwrap_or(CopiedValue::Null).hash(&mut context);
        }
        sum.add_hash(context);
    }
    Ok(sum)
}
