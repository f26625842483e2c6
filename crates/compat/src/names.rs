//! Names of other systems, in ours.

/// Names that are one word, although their capitals say two.
const ONE_WORD: &[(&str, &str)] = &[("PowerShell", "powershell")];

/// The canonical form of a name: `WebFetch` → `web_fetch`, `REPL` → `repl`, `my-tool` → `my_tool`.
pub(crate) fn canonical(name: &str) -> String {
    if let Some((_, word)) = ONE_WORD.iter().find(|(original, _)| *original == name) {
        return (*word).to_owned();
    }
    let letters: Vec<char> = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (place, letter) in letters.iter().enumerate() {
        if letter.is_ascii_uppercase() && starts_word(&letters, place) {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// A capital starts a word after a small letter, and as the last of several capitals before a small one.
fn starts_word(letters: &[char], place: usize) -> bool {
    let Some(before) = place.checked_sub(1).map(|before| letters[before]) else { return false };
    let after = letters.get(place + 1);
    before.is_ascii_lowercase() || before.is_ascii_digit() || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_claw_table_has_its_canonical_form() {
        for (original, name) in [
            ("bash", "bash"),
            ("read_file", "read_file"),
            ("write_file", "write_file"),
            ("edit_file", "edit_file"),
            ("glob_search", "glob_search"),
            ("grep_search", "grep_search"),
            ("WebFetch", "web_fetch"),
            ("WebSearch", "web_search"),
            ("TodoWrite", "todo_write"),
            ("Skill", "skill"),
            ("Agent", "agent"),
            ("ToolSearch", "tool_search"),
            ("NotebookEdit", "notebook_edit"),
            ("Sleep", "sleep"),
            ("SendUserMessage", "send_user_message"),
            ("Config", "config"),
            ("StructuredOutput", "structured_output"),
            ("REPL", "repl"),
            ("PowerShell", "powershell"),
        ] {
            assert_eq!(canonical(original), name);
        }
    }

    #[test]
    fn other_spellings_are_understood() {
        for (original, name) in
            [("my-tool", "my_tool"), ("my.tool", "my_tool"), ("HTTPGet", "http_get"), ("ReadMcp2Resource", "read_mcp2_resource")]
        {
            assert_eq!(canonical(original), name);
        }
    }
}
