//! Keys by name, as terminals send them.

use haft_contract::ToolError;
use haft_text::hex;

use crate::shared::brief;

/// What a key sends.
#[derive(Debug, Clone, Copy)]
enum NamedKey {
    /// One character, whatever the modifiers.
    Char(char),
    /// `ESC [ ch`.
    Cursor(char),
    /// `ESC [ number ~`.
    Numbered(u8),
    /// `ESC O ch`.
    Function(char),
}

use NamedKey::{Char, Cursor, Function, Numbered};

/// Names in lower case.
#[rustfmt::skip] // families of keys, a line each
const KEYS: &[(&str, NamedKey)] = &[
    ("tab", Char('\t')), ("escape", Char('\u{1b}')), ("esc", Char('\u{1b}')), ("space", Char(' ')),
    ("bspace", Char('\u{7f}')), ("backspace", Char('\u{7f}')), ("bs", Char('\u{7f}')),
    ("up", Cursor('A')), ("down", Cursor('B')), ("right", Cursor('C')), ("left", Cursor('D')),
    ("home", Cursor('H')), ("end", Cursor('F')), ("btab", Cursor('Z')), ("backtab", Cursor('Z')),
    ("insert", Numbered(2)), ("ins", Numbered(2)), ("ic", Numbered(2)),
    ("delete", Numbered(3)), ("del", Numbered(3)), ("dc", Numbered(3)),
    ("pgup", Numbered(5)), ("pageup", Numbered(5)), ("ppage", Numbered(5)),
    ("pgdn", Numbered(6)), ("pagedown", Numbered(6)), ("npage", Numbered(6)),
    ("f1", Function('P')), ("f2", Function('Q')), ("f3", Function('R')), ("f4", Function('S')),
    ("f5", Numbered(15)), ("f6", Numbered(17)), ("f7", Numbered(18)), ("f8", Numbered(19)),
    ("f9", Numbered(20)), ("f10", Numbered(21)), ("f11", Numbered(23)), ("f12", Numbered(24)),
    ("kp0", Function('p')), ("kp1", Function('q')), ("kp2", Function('r')), ("kp3", Function('s')), ("kp4", Function('t')),
    ("kp5", Function('u')), ("kp6", Function('v')), ("kp7", Function('w')), ("kp8", Function('x')), ("kp9", Function('y')),
    ("kp*", Function('j')), ("kp+", Function('k')), ("kp-", Function('m')), ("kp.", Function('n')), ("kp/", Function('o')),
    ("kpenter", Function('M')),
];

/// Prefixes for modifier keys.
const SHIFT: &[&str] = &["s-", "shift-", "shift+"];
const ALT: &[&str] = &["m-", "alt-", "alt+", "meta-", "meta+"];
const CONTROL: &[&str] = &["c-", "ctrl-", "ctrl+", "control-", "^"];

/// The bytes to send, and warnings about unknown keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KeyInput {
    pub(super) bytes: Vec<u8>,
    pub(super) warnings: Vec<String>,
}

/// Encodes text, then bytes, then keys.
pub(super) fn encode_keys(literal: &str, hex: &[String], keys: &[String], terminal: bool) -> Result<KeyInput, ToolError> {
    let mut input = KeyInput { bytes: literal.as_bytes().to_vec(), warnings: Vec::new() };
    for digits in hex {
        input.bytes.extend(bytes_of(digits)?);
    }
    for key in keys {
        input.press(key, terminal);
    }
    Ok(input)
}

/// The enter key: without a terminal, a line ends with a line feed.
pub(super) const fn enter(terminal: bool) -> &'static str {
    if terminal { "\r" } else { "\n" }
}

impl KeyInput {
    fn press(&mut self, name: &str, terminal: bool) {
        let (modifiers, base) = Modifiers::parse(name);
        if ["enter", "return", "cr"].contains(&base.to_ascii_lowercase().as_str()) {
            if modifiers.alt {
                self.bytes.push(0x1b);
            }
            return self.bytes.extend(enter(terminal).as_bytes());
        }
        let sent = modifiers.encode(base);
        if sent.is_none() {
            self.warnings.push(format!("Unknown key '{}': it was typed as text.", brief(name)));
        }
        self.bytes.extend(sent.as_deref().unwrap_or(name).as_bytes());
    }
}

/// Modifier keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Modifiers {
    shift: bool,
    alt: bool,
    control: bool,
}

impl Modifiers {
    /// The modifiers of a key's name, and the key itself.
    fn parse(name: &str) -> (Self, &str) {
        let (mut modifiers, mut rest) = (Self::default(), name);
        loop {
            let taken = |prefixes: &[&str]| prefixes.iter().find_map(|prefix| without(rest, prefix));
            if let Some(base) = taken(CONTROL) {
                (modifiers.control, rest) = (true, base);
            } else if let Some(base) = taken(ALT) {
                (modifiers.alt, rest) = (true, base);
            } else if let Some(base) = taken(SHIFT) {
                (modifiers.shift, rest) = (true, base);
            } else {
                return (modifiers, rest);
            }
        }
    }

    /// The bytes of a key; `None` if it is not known.
    fn encode(self, base: &str) -> Option<String> {
        let mut chars = base.chars();
        if let (Some(ch), None) = (chars.next(), chars.next()) {
            return self.char_key(ch);
        }
        let (_, key) = KEYS.iter().find(|(name, _)| base.eq_ignore_ascii_case(name))?;
        let modifiers = self.number();
        Some(match (*key, modifiers) {
            (Char('\t'), _) if self.shift => "\u{1b}[Z".into(),
            (Char(ch), _) => return self.char_key(ch),
            (Cursor(ch), 1) => format!("\u{1b}[{ch}"),
            (Function(ch), 1) => format!("\u{1b}O{ch}"),
            (Cursor(ch) | Function(ch), _) => format!("\u{1b}[1;{modifiers}{ch}"),
            (Numbered(number), 1) => format!("\u{1b}[{number}~"),
            (Numbered(number), _) => format!("\u{1b}[{number};{modifiers}~"),
        })
    }

    fn char_key(self, ch: char) -> Option<String> {
        let ch = if self.shift { ch.to_uppercase().next().unwrap_or(ch) } else { ch };
        let sent = if self.control { control_char(ch)? } else { ch };
        Some(if self.alt { format!("\u{1b}{sent}") } else { sent.to_string() })
    }

    /// The modifier number of terminals.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.control)
    }
}

/// The control character of a key.
fn control_char(ch: char) -> Option<char> {
    match ch.to_ascii_uppercase() {
        ' ' => Some('\0'),
        '?' => Some('\u{7f}'),
        // Control characters stay.
        control if control.is_ascii_control() => Some(control),
        upper @ '@'..='_' => Some(char::from(upper as u8 & 0x1f)),
        _ => None,
    }
}

/// The text after a prefix in any case; a prefix alone is a key itself.
fn without<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (front, rest) = text.split_at_checked(prefix.len())?;
    (front.eq_ignore_ascii_case(prefix) && !rest.is_empty()).then_some(rest)
}

/// Bytes from hexadecimal digits: `1b`, `0x1b`, `1b 5b 41`.
fn bytes_of(text: &str) -> Result<Vec<u8>, ToolError> {
    let digits: String = text.split([' ', ',']).map(|part| part.trim_start_matches("0x").trim_start_matches("0X")).collect();
    let wrong = || {
        let shown = brief(text);
        ToolError::validation(format!(
            "Parameter 'hex' must hold bytes as two hexadecimal digits each, such as '1b', not '{shown}'. Nothing was sent."
        ))
    };
    hex::decode(&digits).filter(|bytes| !bytes.is_empty()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use haft_contract::ErrorKind;
    use haft_testkit::expect_error;

    use super::*;

    fn pressed(keys: &[&str], terminal: bool) -> KeyInput {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        encode_keys("", &[], &keys, terminal).unwrap()
    }

    #[test]
    fn keys_send_what_terminals_send() {
        for (key, sent) in [
            ("enter", "\r"),
            ("Return", "\r"),
            ("M-enter", "\u{1b}\r"),
            ("tab", "\t"),
            ("S-tab", "\u{1b}[Z"),
            ("btab", "\u{1b}[Z"),
            ("Escape", "\u{1b}"),
            ("space", " "),
            ("C-space", "\0"),
            ("BSpace", "\u{7f}"),
            ("Up", "\u{1b}[A"),
            ("C-left", "\u{1b}[1;5D"),
            ("S-M-up", "\u{1b}[1;4A"),
            ("home", "\u{1b}[H"),
            ("end", "\u{1b}[F"),
            ("PgUp", "\u{1b}[5~"),
            ("npage", "\u{1b}[6~"),
            ("insert", "\u{1b}[2~"),
            ("C-del", "\u{1b}[3;5~"),
            ("F1", "\u{1b}OP"),
            ("S-f4", "\u{1b}[1;2S"),
            ("f5", "\u{1b}[15~"),
            ("F12", "\u{1b}[24~"),
            ("kp0", "\u{1b}Op"),
            ("KP/", "\u{1b}Oo"),
            ("KPEnter", "\u{1b}OM"),
            ("a", "a"),
            ("S-a", "A"),
            ("ü", "ü"),
            ("C-c", "\u{3}"),
            ("^C", "\u{3}"),
            ("Ctrl+D", "\u{4}"),
            ("c-[", "\u{1b}"),
            ("C-?", "\u{7f}"),
            ("M-x", "\u{1b}x"),
            ("C-M-x", "\u{1b}\u{18}"),
            ("-", "-"),
            ("^", "^"),
        ] {
            assert_eq!(pressed(&[key], true), KeyInput { bytes: sent.into(), warnings: vec![] }, "{key}");
        }
    }

    #[test]
    fn without_a_terminal_enter_ends_a_line() {
        assert_eq!(pressed(&["y", "enter"], false), KeyInput { bytes: b"y\n".to_vec(), warnings: vec![] });
    }

    #[test]
    fn unknown_keys_are_typed_and_said() {
        let warning = |key: &str| format!("Unknown key '{key}': it was typed as text.");
        let expected = KeyInput { bytes: b"helloC-\xc3\xbc\r".to_vec(), warnings: vec![warning("hello"), warning("C-ü")] };
        assert_eq!(pressed(&["hello", "C-ü", "enter"], true), expected);
    }

    #[test]
    fn text_and_bytes_come_before_keys() {
        let (hex, keys) = (["1b".to_owned(), "0x5B 41".to_owned()], ["C-c".to_owned()]);
        assert_eq!(encode_keys("é ", &hex, &keys, true).unwrap(), KeyInput { bytes: b"\xc3\xa9 \x1b[A\x03".to_vec(), warnings: vec![] });
        for wrong in ["1", "xy", "", "ü1"] {
            let message =
                format!("Parameter 'hex' must hold bytes as two hexadecimal digits each, such as '1b', not '{wrong}'. Nothing was sent.");
            assert_eq!(expect_error(encode_keys("", &[wrong.to_owned()], &[], true)), (ErrorKind::ValidationError, message));
        }
    }
}
