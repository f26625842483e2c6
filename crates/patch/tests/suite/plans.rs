//! A patch of many files, worked out as a whole.

use std::sync::Arc;

use haft_patch::{FuzzyLevel, HunkPlace, PatchFault, PlannedChange, parse, plan, reverse};

/// Files that have one line each, but for those that are new or cannot be read.
fn read(path: &str) -> Result<Option<Arc<Vec<u8>>>, String> {
    match path {
        path if path.contains("new") => Ok(None),
        path if path.contains("locked") => Err("it cannot be read".to_owned()),
        _ => Ok(Some(b" line\n".to_vec().into())),
    }
}

#[test]
fn changes_say_everything_and_can_be_taken_back() {
    let text = "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: a\n@@\n-line\n+other\n*** Update File: b\n*** Move to: \
                new/b\n@@\n- line\n+other\n*** Delete File: c\n*** End Patch";
    let changes = plan(&parse(text).unwrap(), &mut read).unwrap();
    let (line, other, indented) = (b" line\n".to_vec(), b"other\n".to_vec(), b" other\n".to_vec());
    let places = |level| vec![HunkPlace { line: 1, level }];
    let expected = vec![
        PlannedChange::Add { path: "new".into(), bytes: b"x\n".to_vec() },
        PlannedChange::Update {
            path: "a".into(),
            before: line.clone().into(),
            bytes: indented.clone(),
            places: places(FuzzyLevel::Indentation),
        },
        PlannedChange::Move {
            from: "b".into(),
            to: "new/b".into(),
            before: line.clone().into(),
            bytes: other.clone(),
            places: places(FuzzyLevel::Exact),
        },
        PlannedChange::Delete { path: "c".into(), before: line.clone().into() },
    ];
    assert_eq!(changes, expected);
    let back = vec![
        PlannedChange::Add { path: "c".into(), bytes: line.clone() },
        PlannedChange::Move { from: "new/b".into(), to: "b".into(), before: other.into(), bytes: line.clone(), places: vec![] },
        PlannedChange::Update { path: "a".into(), before: indented.into(), bytes: line, places: vec![] },
        PlannedChange::Delete { path: "new".into(), before: b"x\n".to_vec().into() },
    ];
    assert_eq!(reverse(changes), back);
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_others() {
    let text = "*** Add File: a\n+x\n*** Delete File: locked\n*** Update File: b\n*** Move to: locked/b\n*** Delete File: c";
    let error = plan(&parse(text).unwrap(), &mut read).unwrap_err();
    let (path, error_text) = ("locked".to_owned(), "it cannot be read".to_owned());
    let expected = [(path, PatchFault::Unreadable(error_text.clone())), ("locked/b".to_owned(), PatchFault::Unreadable(error_text))];
    assert_eq!(error.faults, expected);
    assert!(error.to_string().contains("locked: it cannot be read\nlocked/b: it cannot be read\nNothing was changed."), "{error}");
}

#[test]
fn a_file_that_is_added_again_is_written_anew() {
    let (line, x) = (b" line\n".to_vec(), b"x\n".to_vec());
    let rewritten = PlannedChange::Update { path: "a".into(), before: line.clone().into(), bytes: x.clone(), places: vec![] };
    let created = PlannedChange::Add { path: "new".into(), bytes: x };
    let deleted = PlannedChange::Delete { path: "b".into(), before: line.into() };
    for (text, expected) in [
        ("*** Add File: a\n+x", vec![rewritten.clone()]),
        ("*** Delete File: ./a\n*** Delete File: b\n*** Add File: a\n+x", vec![deleted, rewritten]),
        ("*** Delete File: new\n*** Add File: new\n+x", vec![created]),
    ] {
        assert_eq!(plan(&parse(text).unwrap(), &mut read), Ok(expected), "{text}");
    }
    let away = "*** Add File: a\n+x\n*** Delete File: a";
    let error = plan(&parse(away).unwrap(), &mut read).unwrap_err();
    assert_eq!(error.faults, [("a".to_owned(), PatchFault::NamedTwice(vec![1, 3]))]);
}

#[test]
fn a_move_away_and_a_file_in_its_place_are_named_twice() {
    let text = "*** Update File: a\n*** Move to: new\n*** Add File: x/../a\n+1\n*** Add File: ./new\n+2";
    let error = plan(&parse(text).unwrap(), &mut read).unwrap_err();
    let twice = |path: &str, lines: [usize; 2]| (path.to_owned(), PatchFault::NamedTwice(lines.to_vec()));
    assert_eq!(error.faults[..2], [twice("a", [1, 3]), twice("new", [1, 5])]);
}

#[test]
fn messages_and_searches_are_bounded() {
    let missing: String = (0..60).map(|number| format!("*** Delete File: new{number}\n")).collect();
    let error = plan(&parse(&missing).unwrap(), &mut read).unwrap_err();
    assert_eq!(error.faults.len(), 60);
    assert!(error.to_string().ends_with("correct the path.\nAnd 10 more.\nNothing was changed."), "{error}");
    let unfit: String = (0..60).map(|number| format!("*** Update File: {number}\n@@\n-unlike\n+x\n")).collect();
    assert_eq!(plan(&parse(&unfit).unwrap(), &mut read).unwrap_err().faults.len(), 20);
    let hunks = format!("*** Update File: a\n{}", "@@\n-unlike\n+x\n".repeat(9));
    let error = plan(&parse(&hunks).unwrap(), &mut read).unwrap_err();
    assert!(error.to_string().ends_with("\nThe hunks after it were not tried.\nNothing was changed."), "{error}");
    assert_eq!(error.to_string().matches("are not in the file").count(), 3, "{error}");
}
