//! What is said when an edit cannot be made.

use haft_patch::edit::{EditFault, FORGIVING_LIMIT};
use haft_patch::{Edit, FuzzyLevel, edit};

fn one(old: &str, new: &str) -> Edit {
    Edit { old: old.to_owned(), new: new.to_owned(), replace_all: false }
}

fn refused(file: &str, edits: &[Edit]) -> String {
    let Err(error) = edit(file.as_bytes(), edits) else { panic!("{edits:?} should be refused") };
    error.to_string()
}

#[test]
fn senseless_edits_are_refused() {
    assert_eq!(refused("a", &[]), "There is no edit: give the old text and the new text.");
    assert_eq!(refused("a", &[one("", "b")]), "The old text is empty: give the text that is to be replaced.");
    assert_eq!(refused("a", &[one("a", "a")]), "The old and the new text are the same, so nothing would change.");
    assert_eq!(
        refused("a", &[one("", "b"), one("a", "b"), one("c", "c")]),
        "Edit 1: The old text is empty: give the text that is to be replaced.\nEdit 3: The old and the new text are the same, so \
         nothing would change.\nNo edit was made."
    );
    // Found, but only as the file would be afterwards.
    assert_eq!(refused("x\n\ta\n", &[one("    a", "\ta")]), "The file already has the new text, at line 2, so nothing would change.");
}

#[test]
fn several_places_are_named() {
    assert_eq!(
        refused("x\ny\nx\n", &[one("x", "z")]),
        "The old text is found in 2 places: lines 1, 3. Add lines around it so that one place alone is meant, or replace all of them."
    );
    assert_eq!(
        refused(&"x\n".repeat(14), &[one("x", "z")]),
        "The old text is found in 14 places: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 4 more. Add lines around it so that one place \
         alone is meant, or replace all of them."
    );
    assert_eq!(
        refused("\ta\n-\n  a\n", &[one("    a", "b")]),
        "The old text is found in 2 places (ignoring indentation): lines 1, 3. Add lines around it so that one place alone is meant, \
         or replace all of them."
    );
    let many = edit(&b"x\n".repeat(5_000), &[one("x", "z")]).unwrap_err();
    assert!(many.to_string().starts_with("The old text is found in at least 1,001 places: lines 1, 2,"), "{many}");
    // Places that overlap each other are several as well.
    assert!(refused("aaa", &[one("aa", "b")]).starts_with("The old text is found in 2 places: lines 1, 1."));
}

#[test]
fn overlapping_edits_are_refused_with_the_lines_of_both() {
    assert_eq!(
        refused("a\nb\nc\nd\n", &[one("c\nd", "x"), one("b\nc", "y")]),
        "Edits 2 (lines 2-3) and 1 (lines 3-4) overlap: make one edit of them.\nNo edit was made."
    );
    let twice = [one("a", "x"), Edit { replace_all: true, ..one("a", "y") }];
    assert!(refused("a\n", &twice).starts_with("Edits 1 (line 1) and 2 (line 1) overlap"));
}

#[test]
fn text_that_another_edit_creates_is_refused() {
    assert_eq!(
        refused("one\ntwo\n", &[one("one", "three"), one("three\ntwo", "x")]),
        "Edit 2: The old text is not in the file. Edit 2 matches only after edit 1; combine them: all edits are made on the \
         original.\nNo edit was made."
    );
}

#[test]
fn missing_text_is_shown_with_the_nearest() {
    assert_eq!(
        refused("fn main() {\n    let total = 1;\n}\n", &[one("    let totl = 1;", "x")]),
        "The old text is not in the file. The nearest place is line 2 (92 % alike):\n     2 |     let total = 1;\nFirst difference, \
         line 2 column 12 (· is a space, → a tab):\n  file:   ····let·total·=·1;\n  wanted: ····let·totl·=·1;\nGive the text as the \
         file has it."
    );
    assert_eq!(
        refused("abc\n", &[one("wholly other words", "x")]),
        "The old text is not in the file. Nothing in the file looks like it: read the file again."
    );
    assert_eq!(refused("", &[one("x", "y")]), "The old text is not in the file. Nothing in the file looks like it: read the file again.");
}

#[test]
fn an_edit_that_was_made_before_and_line_numbers_are_recognised() {
    assert_eq!(
        refused("a\nlet new_name = 1;\n", &[one("let old_name = 7;", "let new_name = 1;")]),
        "The old text is not in the file. The new text is there already, at line 2: the edit may have been made before. The nearest \
         place is line 2 (62 % alike):\n     2 | let new_name = 1;\nFirst difference, line 2 column 5 (· is a space, → a tab):\n  \
         file:   let·new_name·=·1;\n  wanted: let·old_name·=·7;\nGive the text as the file has it."
    );
    let said = refused("alpha\nbeta\n", &[one("1\talpha\n2\tbeta\n", "x")]);
    assert!(said.starts_with("The old text is not in the file. It starts with line numbers: leave them out. The nearest place"), "{said}");
}

#[test]
fn every_edit_that_fails_is_named_and_nothing_is_made() {
    let said = refused("a\nb\nb\n", &[one("zzz zzz", "1"), one("a", "2"), one("b", "3")]);
    let parts: Vec<&str> = said.lines().collect();
    assert_eq!(parts.len(), 3, "{said}");
    assert!(parts[0].starts_with("Edit 1: The old text is not in the file.") && parts[1].starts_with("Edit 3: The old text is found in 2"));
    assert_eq!(parts[2], "No edit was made.");
}

#[test]
fn messages_are_bounded() {
    let edits: Vec<Edit> = (0..60).map(|number| one(&format!("no. {number}!"), "x")).collect();
    let error = edit(b"something\n", &edits).unwrap_err();
    assert_eq!(error.faults.len(), 60);
    let said = error.to_string();
    assert!(said.ends_with("Edit 20: The old text is not in the file. Read the file again.\nAnd 40 more.\nNo edit was made."), "{said}");
    let edits = vec![one("a", "b"); 1_001];
    assert_eq!(refused("a", &edits), "1,001 edits are too many: make at most 1,000 at once.\nNo edit was made.");
}

#[test]
fn huge_files_are_searched_exactly() {
    let mut file = vec![b'x'; FORGIVING_LIMIT];
    file.extend_from_slice(b"\na  \nb\nalso\n");
    let error = edit(&file, &[one("a\nb", "c")]).unwrap_err();
    assert!(matches!(&error.faults[..], [(Some(0), EditFault::NotFound(cause))] if cause.exact_only), "{error}");
    assert!(error.to_string().contains("In a file above 64 MB it must be given exactly."), "{error}");
    assert_eq!(edit(&file, &[one("also", "c")]).unwrap().levels, [FuzzyLevel::Exact]);
}

#[test]
fn results_of_unbounded_size_are_refused() {
    let said = refused(&"x".repeat(1025), &[Edit { replace_all: true, ..one("x", &"y".repeat(1 << 20)) }]);
    assert_eq!(said, "The file would have 1,074,790,400 bytes, and 1,073,741,824 is the most. Replace less.");
    let all = Edit { replace_all: true, ..one("x", "y") };
    let said = refused(&"x".repeat(1_000_001), &[all]);
    assert_eq!(said, "The old text is found in too many places (exactly; 1,000,000 at most). Give a longer text.");
}
