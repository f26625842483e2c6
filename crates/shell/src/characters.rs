//! Characters that hide something, or that shells and this crate could read in different ways.

use haft_text::display::is_hidden;

use crate::reason::{Concern, Reason};

/// What is wrong with the characters of a line.
pub(crate) fn faults(line: &str) -> Vec<Reason> {
    if line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Vec::new();
    }
    let mut found: Vec<char> = line.chars().filter(|ch| is_unclear(*ch)).collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(8);
    found.into_iter().map(fault).collect()
}

fn fault(ch: char) -> Reason {
    let what = match ch {
        '\r' => "a carriage return, which ends a line on the screen but not in the shell".to_owned(),
        '\0' => "a NUL, where programs stop reading".to_owned(),
        ch => format!("U+{:04X}, which cannot be seen or looks like a blank", u32::from(ch)),
    };
    Reason::new(Concern::Characters, format!("the line holds {what}; write it without, or spell it as an escape in $'…'"))
}

/// Control characters, every blank but three, and what is invisible or changes the direction of text.
fn is_unclear(ch: char) -> bool {
    !matches!(ch, '\n' | '\t') && (is_hidden(ch) || matches!(ch, '\u{fffc}' | '\u{fffd}'))
}
