//! Settings of a tenant: keys of the configuration that can only tighten what the operator's own file says.

use haft_text::display;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::tenants::TenantRecord;
use crate::wire;

/// Takes each `KEY=VALUE`; a key without a value is removed.
pub(super) fn change(record: &mut TenantRecord, pairs: &[String]) -> Result<(), Failure> {
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            return Err(Failure::usage(format!("'{}' has no '='", display::escape_line(pair))).help("write quota.calls=1000"));
        };
        if value.is_empty() {
            record.settings.remove(key);
        } else {
            record.settings.insert(key.to_owned(), quote_value(value));
        }
    }
    Ok(())
}

/// A value as a file has it: words need no quotes here.
fn quote_value(value: &str) -> String {
    match toml::from_str::<toml::Table>(&format!("value = {value}")) {
        Ok(table) if table.len() == 1 => value.to_owned(),
        _ => toml::Value::String(value.to_owned()).to_string(),
    }
}

/// Refuses settings that do not load, or that would change nothing because they would widen.
pub(super) fn check(common: &Common, record: &TenantRecord) -> Result<(), Failure> {
    let loaded = wire::check_limits(common, &record.workspace, &record.limits())?;
    let is_tried = |file: &std::sync::Arc<std::path::PathBuf>| file.as_os_str() == wire::TRIED_LIMITS;
    let of_record = loaded.problems.iter().find(|problem| problem.source.file.as_ref().is_some_and(is_tried));
    match of_record {
        None => Ok(()),
        Some(problem) => {
            let failure = Failure::usage(display::escape_lines(&problem.message).into_owned());
            Err(match &problem.help {
                Some(help) => failure.help(help.clone()),
                None => failure,
            })
        }
    }
}
