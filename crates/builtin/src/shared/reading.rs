//! How a model reads on in a file that holds what it was not shown.

use haft_contract::Dialect;

use crate::files::READ_FILE_FORMS;

/// What a dialect calls `read_file`, and how it says where to go on.
pub(crate) fn from_line(dialect: Dialect, line: usize) -> (&'static str, String) {
    let canonical = ("read_file", format!("offset={line}"));
    let form = READ_FILE_FORMS.iter().find(|form| form.dialect == dialect);
    form.map_or(canonical, |form| (form.name, form.written("offset", line as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_counts_as_it_was_told() {
        for (dialect, name, place) in
            [(Dialect::Haft, "read_file", "offset=7"), (Dialect::Claw, "read_file", "offset=6"), (Dialect::OpenClaw, "read", "offset=7")]
        {
            assert_eq!(from_line(dialect, 7), (name, place.to_owned()));
        }
    }
}
