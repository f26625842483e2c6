//! `haft store copy`: moves everything that is kept to a server.

use std::path::PathBuf;

use crate::arguments::StoreCommand;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::wire;

/// What stands before the folder of a store in a file.
const FILE: &str = "sqlite:";

pub(crate) fn run(command: &StoreCommand, output: &Output) -> Result<Exit, Failure> {
    let StoreCommand::Copy { from, to } = command;
    let folder = source(from.as_deref())?;
    let to = match to {
        Some(to) => to.clone(),
        None => {
            wire::store_address().ok_or_else(|| Failure::usage("there is no server to copy to".to_owned()).help("--to postgres://…"))?
        }
    };
    copy(&folder, &to, output)
}

/// The data folder that is copied: the one that is used here, or the one that is named with or without its file.
fn source(from: Option<&str>) -> Result<PathBuf, Failure> {
    let Some(from) = from else { return wire::data_folder() };
    let path = PathBuf::from(from.strip_prefix(FILE).unwrap_or(from));
    let folder =
        if path.file_name().is_some_and(|name| name == "haft.db") { path.parent().map(PathBuf::from).unwrap_or_default() } else { path };
    if folder.join("haft.db").is_file() {
        return Ok(folder);
    }
    Err(Failure::usage(format!("there is no haft.db in '{}'", folder.display())).help("--from sqlite:FOLDER names the folder of the data"))
}

#[cfg(feature = "postgres")]
fn copy(folder: &std::path::Path, to: &str, output: &Output) -> Result<Exit, Failure> {
    use haft_store::{CopiedKind, StoreCopy, StoreError};
    use haft_text::numbers;
    use serde_json::json;

    use crate::output::{note, print};
    use crate::table::{ColumnFit, Table, TableCell};

    let copying = StoreCopy::open(folder, to).map_err(|error| match error {
        StoreError::WrongAddress(why) => {
            Failure::usage(format!("'--to' is no address of a server ({why})")).help("--to postgres://user@host/database")
        }
        other => other.into(),
    })?;
    let kinds = super::block_on(async { Ok(copying.run(|kind| note(&format!("{}: {}", kind.name, kind.count))).await?) })?;
    if output.json {
        let of = |kind: &CopiedKind| json!({"name": kind.name, "count": kind.count, "copied": kind.copied, "hash": kind.hash});
        output.data(&json!(kinds.iter().map(of).collect::<Vec<_>>()))?;
        return Ok(Exit::Success);
    }
    let mut table =
        Table::new(&[("KIND", ColumnFit::Keep), ("COPIED", ColumnFit::Keep), ("THERE", ColumnFit::Keep), ("HASH", ColumnFit::Drop(1))]);
    for CopiedKind { name, count, copied, hash } in &kinds {
        let cells = [name.as_str(), &numbers::group_digits(*copied), &numbers::group_digits(*count), &hash[..16]];
        table.row(cells.map(TableCell::new).into());
    }
    print(&table.render(output.width))?;
    note("every kind has the same count and hash on both sides; HAFT_STORE names the server from now on");
    Ok(Exit::Success)
}

#[cfg(not(feature = "postgres"))]
fn copy(folder: &std::path::Path, to: &str, _output: &Output) -> Result<Exit, Failure> {
    // Says how to build one that can.
    haft_store::StateStore::open(Some(to), folder)?;
    Ok(Exit::Success)
}
