//! The key table itself.

use haft_config::{ConfigKey, KEYS};

#[test]
fn paths_and_variables_are_unique_and_documented() {
    let mut paths: Vec<_> = KEYS.iter().map(|key| key.path).collect();
    let mut variables: Vec<_> = KEYS.iter().filter_map(ConfigKey::variable).collect();
    let (all_paths, all_variables) = (paths.len(), variables.len());
    paths.sort_unstable();
    paths.dedup();
    variables.sort_unstable();
    variables.dedup();
    assert_eq!((paths.len(), variables.len()), (all_paths, all_variables));
    for key in KEYS {
        assert!(key.doc.ends_with('.') && !key.doc[..key.doc.len() - 1].contains(". "), "one sentence: {}", key.doc);
        assert_eq!(key.variable().is_none(), key.path.contains(['*', '[']), "{}", key.path);
    }
    assert_eq!(KEYS.iter().find(|key| key.path == "guards.loop_note").unwrap().variable().unwrap(), "HAFT_GUARDS_LOOP_NOTE");
}
