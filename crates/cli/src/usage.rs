//! Errors of the command line as failures of a command.

use std::ffi::OsString;

use crate::failure::{Exit, Failure};

/// A command line that clap refused. Requested help arrives as an error too and ends with success.
pub(crate) fn refused(error: &clap::Error) -> Failure {
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        return not_utf8();
    }
    let text = error.render();
    let plain = text.to_string();
    // Everything that is wrong, such as each missing argument; usage follows after an empty line.
    let first = plain.split("\n\n").next().unwrap_or_default().trim().trim_start_matches("error: ");
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
    Failure::new(exit, "usage_error", first).report(text.ansi().to_string())
}

/// An argument is not UTF-8 where text is needed.
fn not_utf8() -> Failure {
    let is_path = |before: Option<&OsString>| before.is_some_and(|word| word == "--workspace" || word == "--config");
    let words: Vec<OsString> = std::env::args_os().collect();
    let wrong = (1..words.len()).find(|index| words[*index].to_str().is_none() && !is_path(words.get(index - 1)));
    let which = wrong.map_or_else(|| "an argument".to_owned(), |index| format!("argument {index} ('{}')", words[index].to_string_lossy()));
    Failure::usage(format!("{which} is not UTF-8")).help("names and arguments are UTF-8 text; JSON can spell any character as \\uXXXX")
}
