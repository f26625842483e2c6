//! The key table itself, and the keys that this version only knows by name.

use haft_config::{KEYS, Key, Status};

use super::fixture::Fixture;

#[test]
fn paths_and_variables_are_unique_and_documented() {
    let mut paths: Vec<_> = KEYS.iter().map(|key| key.path).collect();
    let mut variables: Vec<_> = KEYS.iter().filter_map(Key::variable).collect();
    let (all_paths, all_variables) = (paths.len(), variables.len());
    paths.sort_unstable();
    paths.dedup();
    variables.sort_unstable();
    variables.dedup();
    assert_eq!((paths.len(), variables.len()), (all_paths, all_variables));
    for key in KEYS {
        assert!(key.doc.ends_with('.') && !key.doc[..key.doc.len() - 1].contains(". "), "one sentence: {}", key.doc);
        assert_eq!(key.variable().is_none(), key.path.contains(['*', '[']), "{}", key.path);
        assert!(key.status == Status::Now || key.default == haft_config::Value::Unset, "{}", key.path);
    }
    assert_eq!(KEYS.iter().find(|key| key.path == "guards.loop_note").unwrap().variable().unwrap(), "HAFT_GUARDS_LOOP_NOTE");
}

#[test]
fn authority_that_is_not_enforced_is_refused() {
    let cases = [
        ("[exec]\nchanges = 'nonsense'", "2:1 exec.changes", "'exec.changes' is"),
        ("exec.changes = 'review'\nexec.ask = 'smart'", "1:6 exec.changes", "'exec.changes' is"),
    ];
    for (text, place, subject) in cases {
        let fixture = Fixture::new().user(text);
        assert_eq!(
            fixture.problems(&fixture.load()),
            [format!(
                "error user {place} {subject} not enforced by this version: running with it would give false safety | remove it, \
                 and limit what may be done with access, tools.deny, network.deny or workspace.deny_read"
            )],
            "{text}"
        );
    }
}
