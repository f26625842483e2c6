//! Output of commands: colours and styles of the terminal as classes, every other control sequence left out.

use super::{bounded, cut_note, escape};

/// Renders text with escape sequences as `<pre>`.
pub(crate) fn ansi(text: &str) -> String {
    let (text, is_cut) = bounded(text);
    format!("<pre>{}</pre>{}", spans(text), cut_note(is_cut))
}

fn spans(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 64);
    let mut style = TextStyle::default();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        style.push(&mut html, &rest[..at]);
        rest = style.take_sequence(&rest[at + 1..]);
    }
    style.push(&mut html, rest);
    html
}

/// The classes that hold now.
#[derive(Debug, Default)]
struct TextStyle {
    /// Bold, dim, italic, underlined.
    marks: [bool; 4],
    colour: Option<u16>,
    background: Option<u16>,
}

impl TextStyle {
    fn push(&self, html: &mut String, text: &str) {
        // A line that is drawn again begins with a carriage return; its last state counts.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.is_empty() {
            return;
        }
        let marks = self.marks.iter().zip(1u16..).filter(|(is_set, _)| **is_set).map(|(_, number)| number);
        let classes: Vec<String> = marks.chain(self.colour).chain(self.background).map(|number| format!("ansi-{number}")).collect();
        if classes.is_empty() {
            html.push_str(&escape(&text));
        } else {
            html.extend(["<span class=\"", &classes.join(" "), "\">", &escape(&text), "</span>"]);
        }
    }

    /// Takes a sequence, and returns the text after it. One that never ends takes the rest of its line.
    fn take_sequence<'t>(&mut self, text: &'t str) -> &'t str {
        match text.as_bytes().first() {
            Some(b'[') => {
                let body = &text[1..];
                let Some(end) = body.find(|ch: char| ('\u{40}'..='\u{7e}').contains(&ch) || ch == '\n') else { return "" };
                if body.as_bytes()[end] == b'm' {
                    self.apply(&body[..end]);
                }
                let after = if body.as_bytes()[end] == b'\n' { end } else { end + 1 };
                &body[after..]
            }
            // A title or a link: text of the program for the terminal, never for the page.
            Some(b']' | b'P' | b'^' | b'_') => {
                let end = text.find(['\u{7}', '\u{1b}', '\n']).unwrap_or(text.len());
                match text.as_bytes().get(end) {
                    Some(7) => &text[end + 1..],
                    Some(0x1b) if text.as_bytes().get(end + 1) == Some(&b'\\') => &text[end + 2..],
                    _ => &text[end..],
                }
            }
            Some(_) => {
                let mut chars = text.chars();
                chars.next();
                chars.as_str()
            }
            None => text,
        }
    }

    fn apply(&mut self, codes: &str) {
        let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1..=4 => self.marks[usize::from(code) - 1] = true,
                22 => (self.marks[0], self.marks[1]) = (false, false),
                23 | 24 => self.marks[usize::from(code) - 21] = false,
                30..=37 => self.colour = Some(code),
                // Bright colours look like the others: the page has one of each that can be read.
                90..=97 => self.colour = Some(code - 60),
                39 => self.colour = None,
                40..=47 => self.background = Some(code),
                100..=107 => self.background = Some(code - 60),
                49 => self.background = None,
                // Other palettes are not shown: their numbers are skipped.
                38 | 48 => match codes.next() {
                    Some(5) => drop(codes.next()),
                    Some(2) => drop((codes.next(), codes.next(), codes.next())),
                    _ => {}
                },
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_classes_and_other_sequences_vanish() {
        for (text, html) in [
            ("plain <b>", "plain &lt;b&gt;"),
            ("\u{1b}[1;31mred\u{1b}[0m end", "<span class=\"ansi-1 ansi-31\">red</span> end"),
            ("\u{1b}[38;5;200mx\u{1b}[38;2;1;2;3my\u{1b}[4mz", "xy<span class=\"ansi-4\">z</span>"),
            ("\u{1b}[1;95;103mx", "<span class=\"ansi-1 ansi-35 ansi-43\">x</span>"),
            ("a\u{1b}[2Jb\u{1b}[10;10Hc", "abc"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]8;;javascript:x\u{1b}\\c", "abc"),
            ("a\u{1b}[31\nb", "a\nb"),
            ("a\u{1b}", "a"),
            ("one\rtwo\r\n", "one\ntwo\n"),
            ("\u{1b}[31m\"><script>", "<span class=\"ansi-31\">&quot;&gt;&lt;script&gt;</span>"),
        ] {
            assert_eq!(ansi(text), format!("<pre>{html}</pre>"), "{text:?}");
        }
    }
}
