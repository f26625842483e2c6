//! A patch of the configuration as a model writes it: nested tables, as edits of keys.

use haft_config::SettingEdit;
use haft_contract::ToolError;
use serde_json::Value;

const MOST_KEYS: usize = 32;

/// The edits of a patch: nested tables are dotted keys.
pub(super) fn edits(patch: &Value) -> Result<Vec<SettingEdit>, ToolError> {
    let mut edits = Vec::new();
    flatten("", patch, &mut edits)?;
    if edits.len() > MOST_KEYS {
        return Err(ToolError::validation(format!("A patch has at most {MOST_KEYS} keys; this one has {}.", edits.len())));
    }
    Ok(edits)
}

fn flatten(prefix: &str, value: &Value, edits: &mut Vec<SettingEdit>) -> Result<(), ToolError> {
    let key = prefix.to_owned();
    let wrong = || ToolError::validation(format!("The value of '{prefix}' must be a word, a number, true, false, or a list of words."));
    edits.push(match value {
        Value::Object(table) => {
            for (name, value) in table {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&path, value, edits)?;
            }
            return Ok(());
        }
        Value::String(text) => SettingEdit::SetText(key, text.clone()),
        Value::Bool(flag) => SettingEdit::SetFlag(key, *flag),
        Value::Number(number) => SettingEdit::SetNumber(key, number.as_i64().ok_or_else(wrong)?),
        Value::Array(list) => {
            let words = list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            SettingEdit::SetList(key, words.ok_or_else(wrong)?)
        }
        Value::Null => return Err(wrong()),
    });
    Ok(())
}
