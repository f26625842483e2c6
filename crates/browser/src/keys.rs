//! Keys of a keyboard, as pages are told of them.

use haft_contract::ToolError;
use haft_text::display;

use crate::pointer::modifier_bits;

/// A key that is pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// What pages know it by, such as `Enter` or `a`.
    pub(crate) name: String,
    /// Where it is on the keyboard, such as `KeyA`.
    pub(crate) code: String,
    /// Its old number.
    pub(crate) number: u32,
    /// What it writes.
    pub(crate) text: Option<String>,
    pub(crate) modifiers: u32,
}

/// Name, place, number, text.
const NAMED: &[(&str, &str, u32, Option<&str>)] = &[
    ("Enter", "Enter", 13, Some("\r")),
    ("Tab", "Tab", 9, None),
    ("Escape", "Escape", 27, None),
    ("Backspace", "Backspace", 8, None),
    ("Delete", "Delete", 46, None),
    ("Insert", "Insert", 45, None),
    ("Home", "Home", 36, None),
    ("End", "End", 35, None),
    ("PageUp", "PageUp", 33, None),
    ("PageDown", "PageDown", 34, None),
    ("ArrowLeft", "ArrowLeft", 37, None),
    ("ArrowUp", "ArrowUp", 38, None),
    ("ArrowRight", "ArrowRight", 39, None),
    ("ArrowDown", "ArrowDown", 40, None),
    ("Shift", "ShiftLeft", 16, None),
    ("Control", "ControlLeft", 17, None),
    ("Alt", "AltLeft", 18, None),
    ("Meta", "MetaLeft", 91, None),
    ("F1", "F1", 112, None),
    ("F2", "F2", 113, None),
    ("F3", "F3", 114, None),
    ("F4", "F4", 115, None),
    ("F5", "F5", 116, None),
    ("F6", "F6", 117, None),
    ("F7", "F7", 118, None),
    ("F8", "F8", 119, None),
    ("F9", "F9", 120, None),
    ("F10", "F10", 121, None),
    ("F11", "F11", 122, None),
    ("F12", "F12", 123, None),
    (" ", "Space", 32, Some(" ")),
];
const ALIASES: &[(&str, &str)] = &[
    ("return", "Enter"),
    ("esc", "Escape"),
    ("del", "Delete"),
    ("space", " "),
    ("left", "ArrowLeft"),
    ("up", "ArrowUp"),
    ("right", "ArrowRight"),
    ("down", "ArrowDown"),
    ("pgup", "PageUp"),
    ("pgdn", "PageDown"),
    ("ctrl", "Control"),
];

impl Key {
    /// The key that a text names: `Enter`, `a`, `Control+Shift+K`.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let (held, name) = match text.char_indices().rev().find(|(at, ch)| *ch == '+' && *at > 0 && at + 1 < text.len()) {
            Some((at, _)) => (&text[..at], &text[at + 1..]),
            None => ("", text),
        };
        let held: Vec<String> = held.split('+').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let modifiers = modifier_bits(&held)?;
        Self::from_name(name, modifiers).ok_or_else(|| {
            let shown = display::shorten(text, 40);
            ToolError::validation(format!("'{shown}' is not a key. Use names such as Enter, Tab, ArrowDown, a, or Control+a."))
        })
    }

    fn from_name(name: &str, modifiers: u32) -> Option<Self> {
        let folded = name.to_ascii_lowercase();
        let wanted = ALIASES.iter().find(|(alias, _)| *alias == folded).map_or(name, |(_, name)| name);
        let found = NAMED.iter().find(|(known, ..)| known.eq_ignore_ascii_case(wanted) && (known.len() > 1 || *known == wanted));
        if let Some((key, code, number, text)) = found {
            let text = text.filter(|_| modifiers & !8 == 0).map(str::to_owned);
            return Some(Self { name: (*key).to_owned(), code: (*code).to_owned(), number: *number, text, modifiers });
        }
        let mut characters = name.chars();
        let (ch, None) = (characters.next()?, characters.next()) else { return None };
        Some(Self::character(ch, modifiers))
    }

    /// The key that removes what is selected.
    pub(crate) fn delete() -> Self {
        Self { name: "Delete".into(), code: "Delete".into(), number: 46, text: None, modifiers: 0 }
    }

    /// The key that writes a character.
    pub(crate) fn character(ch: char, modifiers: u32) -> Self {
        if ch == '\n' {
            return Self { name: "Enter".into(), code: "Enter".into(), number: 13, text: Some("\r".into()), modifiers };
        }
        let upper = ch.to_ascii_uppercase();
        let code = match upper {
            'A'..='Z' => format!("Key{upper}"),
            '0'..='9' => format!("Digit{upper}"),
            _ => String::new(),
        };
        let number = if upper.is_ascii_alphanumeric() { u32::from(upper) } else { 0 };
        let text = (modifiers & !8 == 0).then(|| ch.to_string());
        Self { name: ch.to_string(), code, number, text, modifiers }
    }

    /// What the editor of a field does for it: the browser leaves that to its caller.
    pub(crate) fn commands(&self) -> &'static [&'static str] {
        match (self.modifiers, self.name.to_ascii_lowercase().as_str()) {
            (2, "a") => &["selectAll"],
            (2, "c") => &["copy"],
            (2, "v") => &["paste"],
            (2, "x") => &["cut"],
            (2, "z") => &["undo"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_the_names_that_models_use() {
        let key = |text: &str| Key::parse(text).map(|key| (key.name, key.code, key.number, key.text, key.modifiers)).ok();
        let expected = |key: &str, code: &str, number, text: Option<&str>, bits| {
            Some((key.to_owned(), code.to_owned(), number, text.map(str::to_owned), bits))
        };
        for (text, wanted) in [
            ("Enter", expected("Enter", "Enter", 13, Some("\r"), 0)),
            ("return", expected("Enter", "Enter", 13, Some("\r"), 0)),
            ("arrowdown", expected("ArrowDown", "ArrowDown", 40, None, 0)),
            ("a", expected("a", "KeyA", 65, Some("a"), 0)),
            ("Control+a", expected("a", "KeyA", 65, None, 2)),
            ("Control+Shift+K", expected("K", "KeyK", 75, None, 10)),
            ("Shift+Tab", expected("Tab", "Tab", 9, None, 8)),
            ("+", expected("+", "", 0, Some("+"), 0)),
            ("Control++", expected("+", "", 0, None, 2)),
            ("space", expected(" ", "Space", 32, Some(" "), 0)),
            ("é", expected("é", "", 0, Some("é"), 0)),
            ("Hyper+a", None),
            ("Nokey", None),
            ("", None),
        ] {
            assert_eq!(key(text), wanted, "{text:?}");
        }
    }
}
