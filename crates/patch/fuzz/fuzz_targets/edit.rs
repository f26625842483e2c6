//! Any edits on any file: they are refused, or nothing changes but their places.
#![no_main]

use haft_patch::diff::{counts, unified};
use haft_patch::{Edit, edit};
use libfuzzer_sys::fuzz_target;

/// Where an old text is taken from the file, how long it is, how it is blurred, what is written behind it, what is new, and
/// whether all places are meant.
type EditInput = (u16, u8, u8, String, String, bool);

fn blurred(text: &str, how: u8) -> String {
    let text = if how & 1 > 0 { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() };
    let text = if how & 2 > 0 { text.replace('\t', "    ") } else { text };
    let text = if how & 4 > 0 { text.replace(['“', '”'], "\"").replace('’', "'").replace('\u{a0}', " ") } else { text };
    let text = if how & 8 > 0 { text.replace("e\u{301}", "é").replace('ﬁ', "fi") } else { text };
    if how & 16 > 0 { text.replace(" \n", "\n") } else { text }
}

fn wished(file: &[u8], (at, length, how, more, new, replace_all): EditInput) -> Edit {
    let start = usize::from(at).min(file.len());
    let end = (start + usize::from(length)).min(file.len());
    let old = blurred(&String::from_utf8_lossy(&file[start..end]).replace('\u{fffd}', ""), how) + &more;
    Edit { old, new, replace_all }
}

fuzz_target!(|input: (Vec<u8>, Vec<EditInput>)| {
    let (file, wishes) = input;
    let edits: Vec<Edit> = wishes.into_iter().map(|wish| wished(&file, wish)).collect();
    let edited = match edit(&file, &edits) {
        Ok(edited) => edited,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let (mut before, mut after) = (0, 0);
    for span in &edited.spans {
        assert_eq!(file[before..span.old_range.start], edited.bytes[after..span.new_range.start]);
        (before, after) = (span.old_range.end, span.new_range.end);
    }
    assert_eq!(file[before..], edited.bytes[after..]);
    assert!(file != edited.bytes && counts(&file, &edited.bytes) != (0, 0));
    assert!(!unified(&file, &edited.bytes, "f", 3).is_empty());
});
