use std::path::Path;

use haft_contract::{Effect, Extent, PathEffect};

use super::super::testing::{Fixture, HOME, WORKSPACE, asked_as, both, file, lists, one, tree};
use super::super::{RuleKind, RuleSet};
use crate::catalog::Vocabulary;

#[test]
fn patterns_name_paths_widely_to_forbid_and_exactly_to_permit() {
    let tool = Fixture::core("read_file");
    for (pattern, path, denied, allowed) in [
        ("docs/a.md", "docs/a.md", true, true),
        ("docs/a.md", "docs/A.MD", true, false),
        ("docs/a.md", "docs/a.md.", true, false),
        ("docs/a.md", "docs/a\u{200c}.md", true, false),
        ("docs/straße", "docs/STRASSE", true, false),
        ("docs/é", "docs/É", true, false),
        ("docs/a.md", "sub/docs/a.md", false, false),
        ("docs/a.md", "/docs/a.md", false, false),
        ("docs", "docs/deep/x", true, false),
        ("docs", "docsx", false, false),
        ("docs/*", "docs/x", true, true),
        ("docs/*", "docs/deep/x", false, false),
        ("docs/**", "docs", true, true),
        ("docs/**", "docs/deep/x", true, true),
        ("docs/**/x", "docs/x", true, true),
        ("docs/**/x", "docs/a/b/x", true, true),
        ("docs/**/x", "docs/a/b/x/y", true, false),
        ("docs/**/x", "docs/a/b/y", false, false),
        ("**/*.pem", "a.pem", true, true),
        ("**/*.pem", "/etc/ssl/a.pem", true, true),
        ("**/*.pem", "a.pems", false, false),
        ("**/keys/?", "/x/keys/a", true, true),
        ("**/keys/?", "/x/keys/ab", false, false),
        ("**/ws/secret", "secret", true, true),
        ("**/me", "secret", false, false),
        ("**/me/**", "secret", false, false),
        ("**/.ssh", "/home/me/.ssh/id", true, false),
        ("**", "/etc/x", true, true),
        ("./**", "a/b", true, true),
        ("./**", "/etc/x", false, false),
        (".", "a/b", true, false),
        ("~/.ssh/**", "/home/me/.ssh/id", true, true),
        ("~/.ssh", "/home/me/.ssh/id", true, false),
        ("~/.ssh", "/home/other/.ssh/id", false, false),
        ("~/ws/a", "a", true, true),
        ("/home/me/ws/a", "a", true, true),
        ("/home/*/ws/a", "a", true, true),
        ("/", "/etc/x", true, false),
        ("a\\*b", "a*b", true, true),
        ("a\\*b", "axb", false, false),
        ("app/\\[slug\\]/x", "app/[slug]/x", true, true),
    ] {
        let rule = format!("read({pattern})");
        assert_eq!(both(&rule, &tool, &Effect::Read(file(path))), (denied, allowed), "{pattern} on {path}");
    }
}

#[test]
fn a_link_does_not_hide_what_is_forbidden_and_lends_nothing() {
    let tool = Fixture::core("read_file");
    let effect = |requested: &str, path: &str| Effect::Read(PathEffect { location: asked_as(requested, path), extent: Extent::File });
    for (rule, requested, path, expected) in [
        ("read(secrets/**)", "link/key", "secrets/key", (true, true)),
        ("read(link/**)", "link/key", "secrets/key", (true, false)),
        ("read(link/**)", "sub/../link/key", "secrets/key", (true, false)),
        ("read(link/**)", "../ws/link/key", "secrets/key", (false, false)),
        ("read(/etc/**)", "/etc/x", "/private/etc/x", (true, false)),
        ("read(/etc/**)", "/a/../etc/x", "/private/etc/x", (true, false)),
        ("read(**/link/*)", "/mnt/link/key", "/data/key", (true, false)),
        ("read(/a/**)", "/a/../b/x", "/b/x", (false, false)),
    ] {
        assert_eq!(both(rule, &tool, &effect(requested, path)), expected, "{rule} on {requested}");
    }
}

/// What a file system tells of a path: how it was spelled, made absolute, at each link.
#[test]
fn no_way_to_a_link_gets_round_a_rule_on_its_name() {
    let tool = Fixture::core("read_file");
    let spelled = |absolute: &str| {
        let inside = absolute.strip_prefix("/home/me/ws/").map(str::to_owned);
        asked_as("whatever", "releases/5/secret").spelled(absolute.into(), inside)
    };
    for (rule, absolute, expected) in [
        ("read(current/**)", "/home/me/ws/current/secret", (true, false)),
        ("read(CURRENT)", "/home/me/ws/Current/secret", (true, false)),
        ("read(/home/me/ws/current/**)", "/home/me/ws/current/secret", (true, false)),
        ("read(~/ws/current/**)", "/home/me/ws/current/secret", (true, false)),
        ("read(**/current/*)", "/home/me/ws/current/secret", (true, false)),
        ("read(**/me/**)", "/home/me/ws/current/secret", (false, false)),
        ("read(/mnt/**)", "/mnt/current/secret", (true, false)),
        ("read(current/**)", "/mnt/current/secret", (false, false)),
        ("read(releases/**)", "/home/me/ws/current/secret", (true, true)),
    ] {
        let effect = Effect::Read(PathEffect { location: spelled(absolute), extent: Extent::File });
        assert_eq!(both(rule, &tool, &effect), expected, "{rule} on {absolute}");
    }
    let twice = spelled("/home/me/ws/latest/secret").spelled("/home/me/ws/current/secret".into(), Some("current/secret".into()));
    let effect = Effect::Read(PathEffect { location: twice, extent: Extent::File });
    for rule in ["read(latest/**)", "read(current/**)"] {
        assert_eq!(both(rule, &tool, &effect), (true, false), "{rule}");
    }
}

#[test]
fn a_tree_is_forbidden_if_any_of_it_is_and_permitted_if_all_of_it_is() {
    let (reader, writer) = (Fixture::core("grep_search"), Fixture::core("apply_patch"));
    for (pattern, root, read, write) in [
        ("docs/**", "docs", (true, true), (true, true)),
        ("docs/**", "docs/deep", (true, true), (true, true)),
        // A search leaves out what may not be read.
        ("docs/**", ".", (false, false), (true, false)),
        ("docs/**", "src", (false, false), (false, false)),
        ("docs/*", "docs", (true, false), (true, false)),
        ("docs/*/x", "docs/a", (false, false), (true, false)),
        ("docs/*/x", "docs/a/b", (false, false), (false, false)),
        ("docs/**/x", "docs/a/b", (false, false), (true, false)),
        ("docs", "docs", (true, false), (true, false)),
        ("~/.ssh/**", "/home", (false, false), (true, false)),
        ("~/.ssh/**", ".", (false, false), (false, false)),
        ("**/*.pem", ".", (false, false), (true, false)),
        ("**/keys/**", "keys", (true, true), (true, true)),
        ("**", ".", (true, true), (true, true)),
    ] {
        assert_eq!(both(&format!("read({pattern})"), &reader, &Effect::Read(tree(root))), read, "read {pattern} on {root}");
        assert_eq!(both(&format!("write({pattern})"), &writer, &Effect::Write(tree(root))), write, "write {pattern} on {root}");
        assert_eq!(both(&format!("delete({pattern})"), &writer, &Effect::Delete(tree(root))), write, "delete {pattern} on {root}");
    }
    let asks = one(RuleKind::Ask, "read(**/*.pem)");
    assert!(asks.on_effect(&reader.candidate(), &Effect::Read(tree("."))).is_some(), "nobody leaves out what is asked about");
}

#[test]
fn a_path_of_no_text_is_permitted_by_nothing() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new("/x").join(OsStr::from_bytes(b"a\xff"));
    let location =
        haft_contract::Location::new(path.clone(), path, "/x/a\u{fffd}".into(), haft_contract::Zone::Outside, std::sync::Arc::new(()));
    let effect = Effect::Read(PathEffect { location, extent: Extent::File });
    assert_eq!(both("read(/x/a*)", &Fixture::core("read_file"), &effect), (true, false));
}

#[test]
fn the_file_system_is_told_what_it_can_leave_out() {
    let rules = lists(
        &[
            "read(**/*.pem)",
            "read_file(**/.env)",
            "read(~/.SSH)",
            "read(/etc/*)",
            "read(docs/**)",
            "write(**/x)",
            "read(**/a\\*\\[)",
            "read(/)",
        ],
        &["read(**/asked)"],
        &["read(**/allowed)"],
    );
    let set = RuleSet::compile(&rules, &Vocabulary::of_core(haft_builtin::metas()), Some(Path::new(HOME))).unwrap();
    assert_eq!(set.denied_reads(WORKSPACE), ["**/*.pem", "**/.env", "**/a??", "/**", "/home/me/.ssh", "/home/me/ws/docs"]);
}

#[test]
fn patterns_that_name_nothing_are_refused_with_what_to_write() {
    let fault = |rule: &str, home: Option<&Path>| {
        RuleSet::check(RuleKind::Deny, rule, &Vocabulary::of_core(haft_builtin::metas()), home).unwrap_err().to_string()
    };
    for (rule, message) in [
        ("read(a/../b)", "the pattern holds '..'; write the path without it"),
        ("read(a//b)", "the pattern holds '//'; write one '/' between two names"),
        ("read(//)", "the pattern holds '//'; write one '/' between two names"),
        ("read(docs/)", "the pattern ends with '/'; write '/**' at the end for everything in the folder, or leave out the '/'"),
        ("read(*.{pem,key})", "'{' has no meaning in a path pattern; write one rule for each case; '\\{' is one that means itself"),
        ("read([ab])", "'[' has no meaning in a path pattern; write one rule for each case; '\\[' is one that means itself"),
        ("read(**.rs)", "'**' stands for whole names, and '**.rs' is one; write '*' within a name, or '**/' before it"),
        ("read(~other/x)", "'~other/x' is nobody's home here; write '~/…' for your own, or the whole path"),
        ("read($HOME/x)", "variables are not replaced in a rule; write '~/…' for your home, or the whole path; '\\$' means itself"),
        ("read(file:///x)", "a rule names a path, not a URL; leave out 'file://'"),
        ("read_file(domain:x.org)", "'domain:…' can never match a path; write a path pattern, such as 'docs/**'"),
        ("write(https://x.org)", "'https://…' can never match a path; write a path pattern, such as 'docs/**'"),
    ] {
        assert_eq!(fault(rule, Some(Path::new(HOME))), message, "{rule}");
    }
    assert_eq!(fault("read(~/x)", None), "it is not known what '~' stands for; set HOME, or write the whole path");
}
