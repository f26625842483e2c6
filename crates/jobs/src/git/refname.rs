//! Names of refs, by the rules of `git check-ref-format`.

/// Whether this is the full name of a ref, such as `refs/heads/main`.
pub(super) fn is_ref_name(name: &[u8]) -> bool {
    name.starts_with(b"refs/") && name.split(|byte| *byte == b'/').count() >= 2 && is_well_formed(name)
}

/// Whether this is the name of a branch, such as `main` or `fix/one`.
pub(super) fn is_branch_name(name: &[u8]) -> bool {
    !name.starts_with(b"-") && name != b"HEAD" && is_well_formed(name)
}

fn is_well_formed(name: &[u8]) -> bool {
    let has = |pair: &[u8]| name.windows(pair.len()).any(|window| window == pair);
    name.len() <= 1024
        && name != b"@"
        && !has(b"..")
        && !has(b"@{")
        && !name.ends_with(b".")
        && !name.iter().any(|byte| *byte <= b' ' || *byte == 0x7f || b"~^:?*[\\".contains(byte))
        && name.split(|byte| *byte == b'/').all(is_component)
}

fn is_component(part: &[u8]) -> bool {
    !part.is_empty() && !part.starts_with(b".") && !part.ends_with(b".lock")
}

/// Whether this is the id of an object, of either format.
pub(super) fn is_object_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

pub(super) fn is_hex(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_names_follow_the_rules_of_git() {
        for name in ["refs/heads/main", "refs/stash", "refs/heads/a/b.c", "refs/tags/v1.0-rc+1", "refs/heads/gr\u{fc}n", "refs/heads/@"] {
            let by_git = std::process::Command::new("git").args(["check-ref-format", name]).status().unwrap().success();
            assert!(by_git && is_ref_name(name.as_bytes()), "{name}");
        }
        for name in [
            "refs/heads/../../config",
            "refs/heads/.hidden",
            "refs/heads/a.lock",
            "refs/heads/a.lock/b",
            "refs/heads/a b",
            "refs/heads/a~1",
            "refs/heads/a:b",
            "refs/heads/a\\b",
            "refs/heads/a@{1}",
            "refs/heads/a.",
            "refs/heads//a",
            "refs/heads/a/",
            "refs/heads/a\u{1}",
            "refs/",
        ] {
            let by_git = std::process::Command::new("git").args(["check-ref-format", name]).status().unwrap().success();
            // The command alone takes two slashes as one.
            assert!(!is_ref_name(name.as_bytes()) && (!by_git || name.contains("//")), "{name}");
        }
        assert!(!is_ref_name(b"HEAD") && !is_ref_name(b"hooks/pre-commit"));
        assert!(is_branch_name(b"fix/one") && !is_branch_name(b"-x") && !is_branch_name(b"HEAD"));
        assert!(is_object_id(&[b'a'; 40]) && is_object_id(&[b'0'; 64]) && !is_object_id(&[b'A'; 40]) && !is_object_id(&[b'a'; 41]));
    }
}
