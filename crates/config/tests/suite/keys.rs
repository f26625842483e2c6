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
        ("[exec]\nsecurity = 'nonsense'", "2:1 exec.security", "'exec.security' is"),
        (
            "[exec.limits]\nopen_files = 1\nmemory = '2GB'\n[exec]\nask = 'smart'\nhost = 'sandbox'",
            "2:1 exec.limits.open_files",
            "'exec.limits.open_files', 'exec.limits.memory', 'exec.ask' and 1 more are",
        ),
        ("sandbox.mode = 'required'", "1:9 sandbox.mode", "'sandbox.mode' is"),
    ];
    for (text, place, subject) in cases {
        let fixture = Fixture::new().user(text);
        let them = if subject.ends_with("are") { "them" } else { "it" };
        assert_eq!(
            fixture.problems(&fixture.load()),
            [format!(
                "error user {place} {subject} not enforced by this version: running with {them} would give false safety | remove {them}, \
                 and limit what may be done with access, tools.deny, network.deny or workspace.deny_read"
            )],
            "{text}"
        );
    }
}
