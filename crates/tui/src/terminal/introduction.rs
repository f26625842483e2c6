//! The first line of a turn: which model answers, and why.

use haft_provider::Model;
use haft_text::display;

use crate::output::{self, DIM, note};
use crate::table::wrap;

/// Prints it, if standard error is a terminal.
pub fn introduce(model: &Model, reason: &str) {
    if let Some(columns) = output::note_columns().filter(|_| output::notes_are_visible()) {
        for line in wrap(&display::escape_line(&introduction(model, reason)), columns) {
            note(&format!("{DIM}{line}{DIM:#}"));
        }
    }
}

fn introduction(model: &Model, reason: &str) -> String {
    let who = if model.provider == "demo" { "The demo model".to_owned() } else { format!("{}/{}", model.provider, model.name) };
    format!("{who} answers, because {reason}. `haft models` lists others, and --model takes one.")
}

#[cfg(test)]
mod tests {
    use haft_provider::Protocol;

    use super::*;

    #[test]
    fn introduction_names_the_model_and_the_reason() {
        let expected = "The demo model answers, because no key is set. `haft models` lists others, and --model takes one.";
        let model = |provider: &str| Model::new(provider, Protocol::OpenAi, "m1");
        assert_eq!(introduction(&model("demo"), "no key is set"), expected);
        assert_eq!(introduction(&model("work"), "no key is set"), expected.replace("The demo model", "work/m1"));
    }
}
