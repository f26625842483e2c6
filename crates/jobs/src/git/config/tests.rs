use std::path::Path;
use std::process::Command;

use super::*;

fn scope() -> Scope<'static> {
    Scope { is_new: false, work_tree: None, git_dir: Path::new("/w/.git"), private: Path::new("/data") }
}

/// What Git reads from a text, as `key=value` or `key`.
fn by_git(text: &[u8]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    std::fs::write(&file, text).unwrap();
    let output = Command::new("git").args(["config", "--no-includes", "--list", "-z", "-f"]).arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| text.split_terminator('\0').map(|entry| entry.replacen('\n', "=", 1)).collect())
}

fn by_us(text: &[u8]) -> Option<Vec<String>> {
    let render = |entry: &Entry| {
        let Key { section, subsection, name } = &entry.key;
        let middle = subsection.as_ref().map(|text| format!("{}.", String::from_utf8_lossy(text))).unwrap_or_default();
        let value = entry.value.as_ref().map(|value| format!("={}", String::from_utf8_lossy(value))).unwrap_or_default();
        format!("{section}.{middle}{name}{value}")
    };
    parse(text).map(|file| file.entries.iter().map(render).collect())
}

#[test]
fn config_is_read_as_git_reads_it() {
    for text in [
        "",
        "[a]\n\tb = c\n",
        "[a] b = c",
        "[A]\nB=c\n[a \"B c\"]\nd",
        "[a \"x\\\"y\\\\z\"]\nb=1\n",
        "[a.B]\nc=1\n[a.b.C \"D\"]\ne=1\n",
        "\u{feff}[a]\nb=c\n",
        "[a]\r\nb = c \r\nd = \"e\r\n\"\r\n",
        "[a]\r\nb = c \r\nd = e\r\n",
        "[a]\nb = c ; comment\nd = \"e ; f\" # x\n",
        "[a]\nb = c\\\nd\\\n  e\n",
        "[a]\nb = \"c\\\nd\"\n",
        "[a]\nb = \"x\" \"y\"  z\n",
        "[a]\nb = x\\ty\\nz\\\\\\\"\n",
        "[a]\nb = x\\y\n",
        "[a]\nb = \"x\n",
        "[a\nb=c\n",
        "[a \"b\nc\"]\nd=e\n",
        "[a]b=c\n[d]e\n",
        "[a]\n1b=c\n",
        "[a]\nb-c=1\nb_c=2\n",
        "[a]\nb c\n",
        "; c\n# d\n[a] # e\nb = c\n",
        "[a]\nb =\nc = \"\"\nd\n",
        "[a]\nb = c\td  e \n",
        "[]\nb=c\n",
        "[a] [b] c=d\n",
        "[a]\nb = c\n[a]\nb = d\n",
        "[a \"\"]\nb=c\n",
        "[a]\nb = c\u{b}d\n",
        "[a]\n\u{b}b = c\n",
        "[a ]\nb=c\n",
        "[a \"b\" ]\nc=d\n",
        "[a-b]\nc=d\n",
    ] {
        assert_eq!(by_us(text.as_bytes()), by_git(text.as_bytes()), "{text:?}");
    }
    assert_eq!(parse(b"[a]\nb = c\0\n"), None);
    assert_eq!(parse(b"[a]\nb = c\\"), None, "what is added would continue this line");
}

#[test]
fn merged_config_takes_harmless_differences_only() {
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("[user]\n\tname = a\n", "[user]\n\tname = a\n", "[user]\n\tname = a\n", &[]),
        ("[user] ; me\n\tname = a ; x\n", "[user]\n\tname = b\n", "[user] ; me\n\tname = b\n", &[]),
        ("[core]\n\tbare = false\n", "[core]\n\tbare = false\n\tautocrlf = input\n", "[core]\n\tbare = false\n\tautocrlf = input\n", &[]),
        ("[core]\n\tbare = false", "[core]\n\tbare = false\n[user]\n\temail = x\n", "[core]\n\tbare = false\n[user]\n\temail = x\n", &[]),
        ("[core]\n\teditor = vi\n", "[core]\n\teditor = evil\n", "[core]\n\teditor = vi\n", &["core.editor"]),
        ("[core]\n\teditor = vi\n", "", "[core]\n\teditor = vi\n", &["core.editor"]),
        ("[user]\n\tname = a\n[core]\n\tx = y\n", "[core]\n\tx = y\n", "[core]\n\tx = y\n", &[]),
        (
            "[remote \"o\"]\n\turl = https://a/\n\tfetch = +refs/heads/*:refs/remotes/o/*\n[x]\n\ty = z\n",
            "[x]\n\ty = z\n[remote \"p\"]\n\turl = https://a/\n\tfetch = +refs/heads/*:refs/remotes/p/*\n",
            "[x]\n\ty = z\n[remote \"p\"]\n\turl = https://a/\n\tfetch = +refs/heads/*:refs/remotes/p/*\n",
            &[],
        ),
        (
            "[remote \"o\"]\n\turl = https://a/\n",
            "[remote \"o\"]\n\turl = ext::sh\n",
            "[remote \"o\"]\n\turl = https://a/\n",
            &["remote.o.url"],
        ),
        ("", "[user]\n\tname = \" a;b\\\"c\\\\\"\n", "[user]\n\tname = \" a;b\\\"c\\\\\"\n", &[]),
        ("", "[branch \"a\\\"b\"]\n\tdescription = one\\ntwo\n", "[branch \"a\\\"b\"]\n\tdescription = one\\ntwo\n", &[]),
        ("", "[user]\nname = a\n[include] path = x\n[user] email = b\n", "[user]\n\tname = a\n\temail = b\n", &["include.path"]),
        ("[core] bare = false\n", "[core] bare = true\n", "[core] bare = true\n", &[]),
        ("", "[core]\n\trepositoryformatversion = 2\n", "", &["core.repositoryformatversion"]),
        ("", "[pull]\n\ttwohead = evil\n\trebase = true\n", "[pull]\n\trebase = true\n", &["pull.twohead"]),
        (
            "",
            "[submodule \"../x\"]\n\turl = https://a\n[submodule \"y\"]\n\tupdate = !x\n\tactive = true\n",
            "[submodule \"y\"]\n\tactive = true\n",
            &["submodule.../x.url", "submodule.y.update"],
        ),
    ];
    for (old, new, expected, refused) in cases {
        let merged = merge(old.as_bytes(), new.as_bytes(), &scope()).unwrap();
        let text = String::from_utf8(merged.text.clone()).unwrap();
        assert_eq!(
            (&*text, &*merged.refused),
            (*expected, &*refused.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>()),
            "{old:?} {new:?}"
        );
        assert!(by_git(&merged.text).is_some(), "{text}");
    }
    assert!(merge(b"[a", b"[user]\nname=a\n", &scope()).is_err());
}

#[test]
fn addresses_are_those_of_gits_own_transports() {
    let url = |value: &str| {
        let key = Key { section: "remote".into(), subsection: Some(b"o".to_vec()), name: "url".into() };
        scope().allows(&key, Some(value.as_bytes()))
    };
    for value in [
        "https://example.org/a.git",
        "http://user:pw@example.org:8080/a",
        "ssh://git@example.org/a",
        "git://example.org/a",
        "git@github.com:a/b.git",
        "example.org:a",
        "../a",
        "/srv/git/a.git",
        "file:///srv/a",
        "ssh://[::1]/a",
        "./a:b",
        "C:/x",
    ] {
        assert!(url(value), "{value}");
    }
    for value in [
        "ext::sh -c x",
        "fd::3",
        "transport::address",
        "-x",
        "--upload-pack=x",
        "ssh://-oProxyCommand=x/y",
        "ssh://a@-oX/y",
        "-oX:y",
        "a@-oX:y",
        "host:-x",
        "",
        " https://a",
        "foo://a",
        "https://a\nb",
        "/data/sandbox/x",
        "../../data/x",
        "file:///data/x",
        "file://localhost/data/x",
    ] {
        assert!(!url(value), "{value}");
    }
}

#[test]
fn submodule_may_name_its_working_tree_in_the_outer_one() {
    let key = Key { section: "core".into(), subsection: None, name: "worktree".into() };
    let module = Scope { work_tree: Some(Path::new("/w")), git_dir: Path::new("/w/.git/modules/s"), ..scope() };
    for (value, is_allowed) in
        [("../../../s", true), ("../../..", false), ("../../../../x", false), ("/w/s", false), ("../../hooks", false)]
    {
        assert_eq!(module.allows(&key, Some(value.as_bytes())), is_allowed, "{value}");
        assert!(!scope().allows(&key, Some(value.as_bytes())));
    }
}
