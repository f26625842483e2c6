//! Files that are missing, unreadable, or written to hurt.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use haft_config::{Config, Loaded, ReportStyle};

use super::fixture::{Fixture, numbered, texts};

const ROUNDS: usize = 300;
const REFUSES: &str = "Haft does not run without the file's denials: fix it, or move it away";

fn unreadable(layer: &str, why: &str) -> Vec<String> {
    vec![format!("error {layer} -:- - the configuration file cannot be read: {why} | {REFUSES}")]
}

#[test]
fn a_missing_file_is_fine_unless_it_was_named() {
    let fixture = Fixture::new();
    let loaded = fixture.load();
    assert_eq!((loaded.problems, loaded.config), (vec![], Config::default()));

    let fixture = Fixture::new().user("access = 'full-access'").config_file("/nowhere/at/all.toml".into());
    let loaded = fixture.load();
    assert_eq!(
        fixture.problems(&loaded),
        ["error user -:- - the file that --config names does not exist | correct the path, or leave --config out"]
    );
}

#[test]
fn named_file_replaces_the_users_file() {
    let fixture = Fixture::new().user("tools.deny = ['a']\n[[[");
    let named = fixture.path().join("other.toml");
    std::fs::write(&named, "tools.disabled = ['b']").unwrap();
    let fixture = fixture.config_file(named).project("tools.deny = ['c']");
    let loaded = fixture.load();
    assert_eq!(loaded.problems, []);
    assert_eq!((texts(&loaded, "tools.disabled"), texts(&loaded, "tools.deny")), (vec!["b".to_owned()], vec!["c".to_owned()]));
}

#[test]
fn users_file_is_found_by_the_environment() {
    let fixture = Fixture::new().user("access = 'read-only'");
    let elsewhere = fixture.path().join("xdg");
    std::fs::create_dir_all(elsewhere.join("haft")).unwrap();
    std::fs::write(elsewhere.join("haft/config.toml"), "access = 'full-access'").unwrap();
    let fixture = fixture.variable("XDG_CONFIG_HOME", elsewhere);
    assert_eq!(fixture.load().config.access, haft_contract::Access::FullAccess);

    let nowhere = Fixture::new().without_variables();
    assert_eq!(
        nowhere.problems(&nowhere.load()),
        ["error user -:- - cannot tell where the configuration belongs, because HOME is not set: set HOME or XDG_CONFIG_HOME | -"]
    );
}

#[test]
fn unreadable_files_are_refused_on_both_layers() {
    type Make = fn(&PathBuf);
    let cases: [(Make, &str); 4] = [
        (|path| std::fs::create_dir(path).unwrap(), "it is a folder, not a file"),
        (|path| make_pipe(path), "it is a pipe, a socket or a device, not a file"),
        (|path| std::fs::write(path, vec![b'#'; (1 << 20) + 1]).unwrap(), "it is larger than 1048576 bytes"),
        (|path| std::fs::write(path, b"access = '\xff'").unwrap(), "it is not UTF-8 at byte 10"),
    ];
    for (make, why) in cases {
        for layer in ["user", "project"] {
            let fixture = Fixture::new();
            make(&if layer == "user" { fixture.user_file() } else { fixture.project_file() });
            assert_eq!(fixture.problems(&fixture.load()), unreadable(layer, why));
        }
    }
}

#[test]
fn users_file_may_be_a_link() {
    for (target, why) in
        [("/dev/zero", "it is a pipe, a socket or a device, not a file"), ("/nowhere/at/all", "it is a symbolic link to nothing")]
    {
        let fixture = Fixture::new();
        symlink(target, fixture.user_file()).unwrap();
        assert_eq!(fixture.problems(&fixture.load()), unreadable("user", why));
    }
    let fixture = Fixture::new();
    let target = fixture.path().join("elsewhere.toml");
    std::fs::write(&target, "tools.deny = ['a']").unwrap();
    symlink(&target, fixture.user_file()).unwrap();
    assert_eq!(texts(&fixture.load(), "tools.deny"), ["a"]);
}

#[test]
fn a_projects_file_is_never_a_link_and_nothing_behind_it_is_shown() {
    let fixture = Fixture::new();
    let secret = fixture.path().join("config.toml");
    std::fs::write(&secret, "root:SECRET:1").unwrap();
    let link = "is a symbolic link, which a project's file is not allowed to be";
    symlink(&secret, fixture.project_file()).unwrap();
    let loaded = fixture.load();
    assert_eq!(fixture.problems(&loaded), unreadable("project", &format!("it {link}")));
    assert!(!loaded.report(ReportStyle::Plain, 100).contains("SECRET"));

    let folder = fixture.workspace().join(".haft");
    std::fs::remove_dir_all(&folder).unwrap();
    symlink(fixture.path(), &folder).unwrap();
    assert_eq!(fixture.problems(&fixture.load()), unreadable("project", &format!("its folder {link}")));
}

#[test]
fn a_file_that_may_not_be_read_is_refused() {
    let fixture = Fixture::new().user("tools.deny = ['a']");
    std::fs::set_permissions(fixture.user_file(), std::fs::Permissions::from_mode(0o000)).unwrap();
    let loaded = fixture.load();
    if std::fs::read(fixture.user_file()).is_ok() {
        assert_eq!(texts(&loaded, "tools.deny"), ["a"], "the superuser reads it all the same");
    } else {
        assert_eq!(fixture.problems(&loaded), unreadable("user", "Permission denied (os error 13)"));
    }
}

#[test]
fn a_pipe_with_a_writer_is_not_read_either() {
    let fixture = Fixture::new();
    make_pipe(&fixture.user_file());
    let writer = std::fs::OpenOptions::new().read(true).write(true).open(fixture.user_file()).unwrap();
    assert_eq!(fixture.problems(&fixture.load()), unreadable("user", "it is a pipe, a socket or a device, not a file"));
    drop(writer);
}

#[test]
fn a_broken_file_gives_no_values_at_all() {
    for (user, project) in [("access = 'full-access'\n[tools", ""), ("", "tools.deny = ['a']\n[tools")] {
        let loaded = Fixture::new().user(user).project(project).load();
        assert_eq!((loaded.config, loaded.problems.is_empty()), (Config::default(), false), "{user} {project}");
    }
}

#[test]
fn a_byte_order_mark_is_accepted() {
    let loaded = Fixture::new().user("\u{feff}access = 'read-only'").load();
    assert_eq!((loaded.problems, loaded.config.access), (vec![], haft_contract::Access::ReadOnly));
}

#[test]
fn nasty_files_are_answered_soon_and_briefly() {
    let size = 1 << 20;
    // Past the size up to which all errors are collected, and small enough for an unoptimised build.
    let repeat = |text: &str| text.repeat(100_000 / text.len());
    let many_keys = numbered(20_000, |number| format!("k{number}=1\n"));
    let inline_keys = numbered(90_000, |number| format!("k{number}=1,"));
    let inline_providers = numbered(20_000, |number| format!("p{number}={{models=[]}},"));
    let files: Vec<(&str, Vec<u8>, bool)> = vec![
        ("empty", vec![], true),
        ("only a comment", b"# x".to_vec(), true),
        ("open brackets", "[".repeat(size).into_bytes(), false),
        ("close brackets", repeat("]").into_bytes(), false),
        ("deep arrays", format!("a={}", "[".repeat(size - 2)).into_bytes(), false),
        ("deep closed arrays", format!("a={}{}", "[".repeat(size / 2 - 1), "]".repeat(size / 2 - 1)).into_bytes(), false),
        ("deep inline tables", format!("a={}", "{a=".repeat(size / 3 - 1)).into_bytes(), false),
        ("deep dotted key", format!("{}a=1", "a.".repeat(50_000)).into_bytes(), false),
        ("equals signs", repeat("=").into_bytes(), false),
        ("empty lines with equals", repeat("=\n").into_bytes(), false),
        ("small file, many errors", "=\n".repeat(30_000).into_bytes(), false),
        ("the same key", repeat("a=1\n").into_bytes(), false),
        ("the same table", repeat("[a]\n").into_bytes(), false),
        ("unknown keys", many_keys.into_bytes(), false),
        ("unknown keys on one line", format!("tools = {{{inline_keys}}}").into_bytes(), false),
        ("unknown providers", numbered(5_000, |number| format!("[providers.p{number}]\n")).into_bytes(), false),
        ("providers on one line", format!("providers = {{{inline_providers}}}").into_bytes(), false),
        ("one long key", vec![b'a'; size - 2].into_iter().chain(*b"=1").collect(), false),
        ("one long text", format!("access = '{}'", "x".repeat(size - 20)).into_bytes(), false),
        ("a long list", format!("tools.deny=[{}]", "'a',".repeat(size / 4 - 10)).into_bytes(), false),
        ("a long list of wrong entries", format!("tools.deny=[{}]", "1,".repeat(900)).into_bytes(), false),
        ("quotes", repeat("\"").into_bytes(), false),
        ("NUL bytes", repeat("\0").into_bytes(), false),
        ("NUL in a key", b"\"a\0\"=1".to_vec(), false),
        ("escape codes", "access = \"\\u001b[31m\"\n\"\\u202e\" = 1\n".into(), false),
        ("bad escapes", format!("a=\"{}\"", "\\q".repeat(30_000)).into_bytes(), false),
        ("commas", format!("a=[{}]", ",".repeat(30_000)).into_bytes(), false),
        ("carriage returns", repeat("\r").into_bytes(), false),
        ("a mark in the middle", "access = 1\n\u{feff}".into(), false),
        ("dates and floats", "access = 1979-05-27T07:32:00Z\nguards.loop_note = nan\nguards.loop = inf\n".into(), false),
        ("hooks without end", repeat("[[hooks]]\n").into_bytes(), false),
        (
            "groups of groups",
            format!("[groups]\n{}", numbered(200, |number| format!("g{number}=['group:g{}']\n", (number + 1) % 200))).into(),
            false,
        ),
        ("what a project cannot widen", numbered(200, |number| format!("[agents.a{number}]\naccess='full-access'\n")).into(), true),
    ];
    for (number, (name, bytes, usable)) in files.into_iter().enumerate() {
        assert!(bytes.len() <= size, "{name}: {} bytes test the wrong thing", bytes.len());
        let started = Instant::now();
        let fixture = if number % 2 == 0 { Fixture::new().project(&bytes) } else { Fixture::new().user(&bytes) };
        let loaded = fixture.load();
        let report = loaded.report(ReportStyle::Plain, 80);
        assert_eq!(loaded.errors().count() == 0, usable, "{name}: {:?}", loaded.problems.first());
        assert_bounded(name, &loaded, &report);
        // Generous: a hang or a square is what this must catch, on any machine.
        assert!(started.elapsed() < Duration::from_secs(20), "{name} took {:?}", started.elapsed());
    }
}

fn assert_bounded(name: &str, loaded: &Loaded, report: &str) {
    assert!(loaded.problems.len() <= 101, "{name}: {} problems", loaded.problems.len());
    assert!(report.len() < 200_000, "{name}: a report of {} bytes", report.len());
    let obeyed = report.chars().find(|ch| ch.is_control() && *ch != '\n' || *ch == '\u{202e}');
    assert_eq!(obeyed, None, "{name}: a terminal would obey it");
}

#[test]
fn no_change_to_a_good_file_makes_it_panic() {
    const PIECES: &[u8] = b"[]{}=.,'\"\\\n\t #\0\xc3\xbcax1-";
    let example = include_bytes!("example.toml");
    let fixture = Fixture::new();
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..ROUNDS {
        let mut bytes = example.to_vec();
        for _ in 0..=next(4) {
            let (from, length) = (next(bytes.len()), next(12));
            let piece: Vec<u8> = (0..next(4)).map(|_| PIECES[next(PIECES.len())]).collect();
            bytes.splice(from..(from + length).min(bytes.len()), piece);
        }
        std::fs::write(fixture.user_file(), &bytes).unwrap();
        let loaded = fixture.load();
        assert_bounded("changed", &loaded, &loaded.report(ReportStyle::Plain, 60));
    }
}

#[test]
fn cut_report_ends_with_an_error() {
    let fixture = Fixture::new().user(numbered(150, |number| format!("k{number} = 1\n")));
    let problems = fixture.problems(&fixture.load());
    assert_eq!(problems.len(), 101);
    assert!(problems.contains(&"error user -:- - more problems follow that are not shown | correct the ones above first".into()));
}

fn make_pipe(path: &PathBuf) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0).unwrap();
}
