//! What holds for any file, any edit and any patch.

use std::convert::Infallible;

use haft_patch::diff::{counts, unified};
use haft_patch::text::LineTable;
use haft_patch::{Edit, EditedFile, Hunk, HunkLine, LineKind, PatchAction, PlannedChange, apply_update, edit, parse, plan, reverse};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Pieces of files, made so that texts are often found, and often almost found.
fn piece() -> impl Strategy<Value = &'static str> {
    select(vec![
        "a", "b", "if x:", "return 1", "\n", "\n", "\n", "\r\n", "\r", " ", "  ", "\t", "    ", "\"", "“", "”", "'", "’", "-", "—",
        "\u{a0}", "é", "e\u{301}", "ﬁ", "fi", "\u{feff}", "한", "(", "}",
    ])
}

fn text() -> impl Strategy<Value = String> {
    vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

/// Bytes of a file: mostly such text, with bytes in it that are none.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![8 => piece().prop_map(|piece| piece.as_bytes().to_vec()), 1 => vec(any::<u8>(), 1..3)], 0..60)
        .prop_map(|pieces| pieces.concat())
}

/// A text from a file, as someone would write it who saw it through a glass.
fn blurred(text: &str, how: u8) -> String {
    let text = if how & 1 > 0 { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() };
    let text = if how & 2 > 0 { text.replace('\t', "    ") } else { text };
    let text = if how & 4 > 0 { text.replace(['“', '”'], "\"").replace('’', "'").replace('\u{a0}', " ") } else { text };
    let text = if how & 8 > 0 { text.replace("e\u{301}", "é").replace('ﬁ', "fi") } else { text };
    if how & 16 > 0 { text.replace(" \n", "\n") } else { text }
}

/// A part of a file, in whole characters where it has any.
fn part(bytes: &[u8], one: Index, other: Index) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\u{fffd}', "");
    let (one, other) = (one.index(text.len() + 1), other.index(text.len() + 1));
    let (start, end) = (text.floor_char_boundary(one.min(other)), text.floor_char_boundary(one.max(other)));
    text[start..end].to_owned()
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = select(vec!["", "a", "b", "  b", "}", "-", "+", "@", "“c”", "line of text", "another line", "a b c"]);
    vec(line.prop_map(str::to_owned), 0..30)
}

/// Some lines, and the same with some of them changed.
fn versions() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    (lines(), vec((any::<Index>(), 0..3_u8, "[a-d ]{0,4}"), 0..6)).prop_map(|(old, changes)| {
        let mut new = old.clone();
        for (at, kind, line) in changes {
            let at = at.index(new.len() + 1);
            match kind {
                0 => new.insert(at, line),
                1 if at < new.len() => drop(new.remove(at)),
                _ if at < new.len() => new[at] = line,
                _ => {}
            }
        }
        (old, new)
    })
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A hunk over the whole file.
fn whole_hunk(old: &[String], new: &[String]) -> Hunk {
    let same = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let context = old[..same].iter().map(|line| HunkLine::new(LineKind::Context, line));
    let removed = old[same..].iter().map(|line| HunkLine::new(LineKind::Remove, line));
    let added = new[same..].iter().map(|line| HunkLine::new(LineKind::Add, line));
    Hunk { lines: context.chain(removed).chain(added).collect(), ..Hunk::default() }
}

/// The hunk in an envelope.
fn enveloped(path: &str, hunk: &Hunk) -> String {
    let mark = |line: &HunkLine| match line.kind {
        LineKind::Context => ' ',
        LineKind::Remove => '-',
        LineKind::Add => '+',
    };
    let lines: String = hunk.lines.iter().map(|line| format!("{}{}\n", mark(line), line.text)).collect();
    format!("*** Begin Patch\n*** Update File: {path}\n@@\n{lines}*** End Patch\n")
}

/// What a patch makes of a file.
fn patched(file: &str, patch: &str) -> Result<Vec<PlannedChange>, String> {
    let patch = parse(patch).map_err(|error| error.to_string())?;
    plan(&patch, &mut |_| Ok::<_, Infallible>(Some(file.as_bytes().to_vec().into()))).map_err(|error| error.to_string())
}

fn bytes_of(changes: &[PlannedChange]) -> &[u8] {
    match changes {
        [PlannedChange::Update { bytes, .. }] => bytes,
        _ => panic!("{changes:?} is no update"),
    }
}

/// The pieces of the grammar of patches, in any order.
fn soup() -> impl Strategy<Value = String> {
    let line = select(vec![
        "*** Begin Patch",
        "*** End Patch",
        "*** Add File: a",
        "*** Update File: a",
        "*** Delete File: b",
        "*** Move to: c",
        "*** End of File",
        "@@",
        "@@ a",
        "@@ -1,2 +1,2 @@",
        "@@ -0,0 +1 @@",
        " a",
        "-a",
        "+b",
        "",
        " ",
        "-",
        "+",
        "a",
        "--- a/a",
        "+++ b/a",
        "+++ /dev/null",
        "--- /dev/null",
        "diff --git a/a b/a",
        "rename from a",
        "rename to b",
        "new file mode 1",
        "deleted file mode 1",
        "```",
        "EOF",
        "apply_patch <<'EOF'",
        "\\ No newline at end of file",
        "*** ",
        "@@@@",
        "\u{feff}",
    ]);
    vec((line, select(vec!["\n", "\n", "\n", "\r\n", ""])), 0..40)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| format!("{line}{end}")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_changes_only_its_places(file in bytes(), one: Index, other: Index, how: u8, new in text(), replace_all: bool) {
        let old = blurred(&part(&file, one, other), how);
        let edits = [Edit { old, new, replace_all }];
        if let Ok(EditedFile { bytes, spans, levels }) = edit(&file, &edits) {
            let (mut before, mut after) = (0, 0);
            for span in &spans {
                prop_assert_eq!(&file[before..span.old_range.start], &bytes[after..span.new_range.start]);
                (before, after) = (span.old_range.end, span.new_range.end);
            }
            prop_assert_eq!(&file[before..], &bytes[after..]);
            prop_assert_eq!((levels.len(), spans.is_empty(), spans.len() > 1 && !replace_all), (1, false, false));
            prop_assert_ne!(file, bytes);
        }
    }

    #[test]
    fn a_text_that_is_there_once_is_found_through_any_glass(before in "[x-z \n]{0,20}", lines in vec("[a-c]{1,3}", 1..5), how: u8) {
        let block = |indent: &str, end: &str| lines.iter().map(|line| format!("{indent}“{line}”{end}")).collect::<String>();
        let file = format!("{before}\n{}q\n", block("\t", " \r\n"));
        let (old, new) = (blurred(&block("\t", " \r\n"), how), blurred(&block("\t", "!\r\n"), how));
        let edited = edit(file.as_bytes(), &[Edit { old, new, replace_all: false }]).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let text = String::from_utf8(edited.bytes).unwrap();
        // What changed is as it was asked for; how the file spells everything else is the file's own.
        let shown = text.strip_prefix(&format!("{before}\n")).and_then(|rest| rest.strip_suffix("q\n")).unwrap();
        prop_assert_eq!(shown.replace(' ', ""), block("\t", "!\r\n"));
    }

    #[test]
    fn an_exact_edit_is_a_plain_replacement(before in "[ab\n]{0,10}", old in "[cd\n]{0,6}c", after in "[ab\n]{0,10}", new in "[a-e\n]{0,8}") {
        prop_assume!(old != new);
        let file = format!("{before}{old}{after}");
        let one = edit(file.as_bytes(), &[Edit { old: old.clone(), new: new.clone(), replace_all: false }]).unwrap();
        prop_assert_eq!(String::from_utf8(one.bytes).unwrap(), format!("{before}{new}{after}"));
        let all = edit(file.repeat(3).as_bytes(), &[Edit { old: old.clone(), new: new.clone(), replace_all: true }]).unwrap();
        prop_assert_eq!(String::from_utf8(all.bytes).unwrap(), file.repeat(3).replace(&old, &new));
    }

    #[test]
    fn edits_of_a_list_do_not_see_each_other(parts in vec(("[a-c]{1,4}", "[x-z]{0,4}"), 1..8), order in any::<Index>()) {
        // Each old text is there once, between marks that number it.
        let file: String = parts.iter().enumerate().map(|(number, (old, _))| format!("<{number}{old}>")).collect();
        let expected: String = parts.iter().map(|(_, new)| &**new).collect();
        let mut edits: Vec<Edit> = parts.iter().enumerate()
            .map(|(number, (old, new))| Edit { old: format!("<{number}{old}>"), new: new.clone(), replace_all: false }).collect();
        let middle = order.index(edits.len());
        edits.rotate_left(middle);
        prop_assert_eq!(String::from_utf8(edit(file.as_bytes(), &edits).unwrap().bytes).unwrap(), expected);
    }

    #[test]
    fn edits_never_panic(file in vec(any::<u8>(), 0..60), edits in vec((any::<String>(), any::<String>(), any::<bool>()), 0..4)) {
        let edits: Vec<Edit> = edits.into_iter().map(|(old, new, replace_all)| Edit { old, new, replace_all }).collect();
        let said = edit(&file, &edits).map_or_else(|error| error.to_string(), |edited| format!("{:?}", edited.levels));
        prop_assert!(!said.is_empty());
    }

    #[test]
    fn a_patch_made_of_two_texts_turns_one_into_the_other_and_back((old, new) in versions()) {
        prop_assume!(old != new);
        let (before, after, hunk) = (joined(&old), joined(&new), whole_hunk(&old, &new));
        let changes = patched(&before, &enveloped("f", &hunk)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(String::from_utf8_lossy(bytes_of(&changes)), &*after);
        let back = apply_update(after.as_bytes(), &[hunk.reversed()]).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(String::from_utf8_lossy(&back.bytes), &*before);
        let taken_back = reverse(changes);
        prop_assert_eq!(String::from_utf8_lossy(bytes_of(&taken_back)), &*before);
    }

    #[test]
    fn a_diff_of_two_texts_turns_one_into_the_other((old, new) in versions(), cut in 0..4_u8, context in 0..5_usize) {
        let (mut before, mut after) = (joined(&old), joined(&new));
        before.truncate(before.len() - usize::from(cut & 1 > 0 && !before.is_empty()));
        after.truncate(after.len() - usize::from(cut & 2 > 0 && !after.is_empty()));
        prop_assume!(before != after);
        let diff = unified(before.as_bytes(), after.as_bytes(), "f", context);
        let changes = patched(&before, &diff).map_err(|error| TestCaseError::fail(format!("{error}\n{diff}")))?;
        prop_assert_eq!(String::from_utf8_lossy(bytes_of(&changes)), &*after, "{}", diff);
        let marked = |mark: char| diff.lines().skip(2).filter(|line| line.starts_with(mark)).count();
        prop_assert_eq!(counts(before.as_bytes(), after.as_bytes()), (marked('+'), marked('-')));
    }

    #[test]
    fn lines_that_stay_keep_their_bytes(file in vec(("[a-c ]{0,3}", select(vec!["\n", "\r\n"])), 1..20), changed in vec(any::<Index>(), 1..4)) {
        let bytes: String = file.iter().map(|(line, ending)| format!("{line}{ending}")).collect();
        let changed: Vec<usize> = changed.iter().map(|at| at.index(file.len())).collect();
        let mut hunk = Hunk::default();
        for (number, (line, _)) in file.iter().enumerate() {
            if changed.contains(&number) {
                hunk.lines.extend([HunkLine::new(LineKind::Remove, line), HunkLine::new(LineKind::Add, "changed")]);
            } else {
                hunk.lines.push(HunkLine::new(LineKind::Context, line));
            }
        }
        let updated = apply_update(bytes.as_bytes(), &[hunk]).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let lines = LineTable::new(&updated.bytes).unwrap();
        prop_assert_eq!(lines.len(), file.len());
        for (number, (line, ending)) in file.iter().enumerate() {
            let expected = if changed.contains(&number) { "changed".to_owned() } else { format!("{line}{ending}") };
            let found = if changed.contains(&number) { lines.get(number).body } else { lines.span(number..number + 1) };
            prop_assert_eq!(String::from_utf8_lossy(found), expected);
        }
    }

    #[test]
    fn no_patch_and_no_file_makes_a_panic(patch in prop_oneof![soup(), any::<String>()], file in bytes()) {
        if let Ok(patch) = parse(&patch) {
            let said = match plan(&patch, &mut |_| Ok::<_, Infallible>(Some(file.clone().into()))) {
                Ok(changes) => changes.len().to_string(),
                Err(error) => error.to_string(),
            };
            prop_assert!(!said.is_empty());
            let hunks = patch.files.into_iter().filter_map(|file| match file.action {
                PatchAction::Update { hunks, .. } => Some(hunks),
                _ => None,
            });
            for hunks in hunks {
                prop_assert!(apply_update(&file, &hunks).is_ok() || !hunks.is_empty());
            }
        }
    }

    #[test]
    fn a_diff_of_any_bytes_is_bounded_and_shows_nothing_hidden(old in bytes(), new in bytes()) {
        let diff = unified(&old, &new, "f", 3);
        prop_assert!(diff.chars().all(|ch| !ch.is_control() || ch == '\n' || ch == '\t'));
        prop_assert_eq!(diff.is_empty(), old == new);
    }
}
