//! Saving a rule: everything else in the file stays.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use haft_config::{SaveError, Saved, save_rules};

use super::fixture::{Fixture, texts};

fn save_rule(file: &std::path::Path, rule: &str) -> Result<Saved, SaveError> {
    save_rules(file, &[rule])
}

const RULE: &str = "exec(cargo test *)";

fn saved(text: &str) -> String {
    let fixture = Fixture::new().user(text);
    assert_eq!(save_rule(&fixture.user_file(), RULE).unwrap(), Saved::Added, "{text}");
    let loaded = fixture.load();
    assert_eq!(loaded.problems, [], "{text}");
    assert!(texts(&loaded, "rules.allow").contains(&RULE.to_owned()), "{text}");
    std::fs::read_to_string(fixture.user_file()).unwrap()
}

#[test]
fn everything_else_stays_as_it_was_written() {
    let cases = [
        ("", "[rules]\nallow = [\"exec(cargo test *)\"]\n"),
        ("access = 'read-only' # why\n", "access = 'read-only' # why\n\n[rules]\nallow = [\"exec(cargo test *)\"]\n"),
        ("access = 'read-only'\n# the end", "access = 'read-only'\n# the end\n\n[rules]\nallow = [\"exec(cargo test *)\"]\n"),
        ("# only this\n\n", "# only this\n\n[rules]\nallow = [\"exec(cargo test *)\"]\n"),
        (
            "[rules]\n# mine\ndeny  = [ 'exec(x)' ]  # never\n\n[tools]\ndeny = ['y']\n",
            "[rules]\n# mine\ndeny  = [ 'exec(x)' ]  # never\nallow = [\"exec(cargo test *)\"]\n\n[tools]\ndeny = ['y']\n",
        ),
        ("rules.allow = ['exec(x)'] # own\n[tools]\n", "rules.allow = ['exec(x)', \"exec(cargo test *)\"] # own\n[tools]\n"),
        ("rules.deny = ['exec(x)']\n[tools]\n", "rules.deny = ['exec(x)']\nrules.allow = [\"exec(cargo test *)\"]\n[tools]\n"),
        ("rules = { deny = ['exec(x)'] }\n", "rules = { deny = ['exec(x)'], allow = [\"exec(cargo test *)\"] }\n"),
        ("[rules]\nallow = []\n", "[rules]\nallow = [\"exec(cargo test *)\"]\n"),
        ("[rules]\nallow = [ 'exec(x)' ]\n", "[rules]\nallow = [ 'exec(x)', \"exec(cargo test *)\" ]\n"),
        ("[rules]\nallow = ['exec(x)', ]\n", "[rules]\nallow = ['exec(x)', \"exec(cargo test *)\", ]\n"),
        (
            "[rules]\nallow = [\n\t'exec(x)', # first\n\t# between\n\t'exec(y)', # second\n\t# last\n]\n",
            "[rules]\nallow = [\n\t'exec(x)', # first\n\t# between\n\t'exec(y)', # second\n\t# last\n\t\"exec(cargo test *)\",\n]\n",
        ),
        (
            "[rules]\nallow = [\n  'exec(x)', # first\n  'exec(y)' # second\n]\n",
            "[rules]\nallow = [\n  'exec(x)', # first\n  'exec(y)', # second\n  \"exec(cargo test *)\"\n]\n",
        ),
        ("[rules]\nallow = [\n  # none yet\n]\n", "[rules]\nallow = [\n  # none yet\n  \"exec(cargo test *)\"\n]\n"),
        ("[rules]\r\nallow = ['exec(x)']\r\n# ü\r\n", "[rules]\r\nallow = ['exec(x)', \"exec(cargo test *)\"]\r\n# ü\r\n"),
        (
            "# a\r\naccess = 'read-only'\n# b\r\n[rules]\nallow = ['exec(x)']\r\n[tools]\r\n# c\n",
            "# a\r\naccess = 'read-only'\n# b\r\n[rules]\nallow = ['exec(x)', \"exec(cargo test *)\"]\r\n[tools]\r\n# c\n",
        ),
        ("# a\r\n# b\n# c\n", "# a\r\n# b\n# c\n\n[rules]\nallow = [\"exec(cargo test *)\"]\n"),
        ("# a\r\n# b", "# a\r\n# b\r\n\r\n[rules]\r\nallow = [\"exec(cargo test *)\"]\r\n"),
        ("\u{feff}access = 'read-only'\n", "\u{feff}access = 'read-only'\n\n[rules]\nallow = [\"exec(cargo test *)\"]\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(saved(text), expected, "{text}");
    }
}

#[test]
fn any_text_that_is_a_rule_comes_back_as_it_was() {
    for rule in ["exec(git commit -m \"a 'b'\" *)", "write_file(C:\\x\\**)", "web_fetch(domain:*.ü.example)", "exec(\\\"'''\"\"\")"] {
        let fixture = Fixture::new();
        assert_eq!(save_rule(&fixture.user_file(), rule).unwrap(), Saved::Added);
        assert_eq!(texts(&fixture.load(), "rules.allow"), [rule]);
        let before = std::fs::metadata(fixture.user_file()).unwrap().ino();
        assert_eq!(save_rule(&fixture.user_file(), rule).unwrap(), Saved::AlreadyThere);
        assert_eq!(std::fs::metadata(fixture.user_file()).unwrap().ino(), before, "nothing was written");
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_file_is_private_and_an_old_one_keeps_its_mode() {
    let fixture = Fixture::new();
    let file = fixture.path().join("new/haft/config.toml");
    assert_eq!(save_rule(&file, RULE).unwrap(), Saved::Added);
    let modes = [file.as_path(), file.parent().unwrap(), file.parent().unwrap().parent().unwrap()].map(mode);
    assert_eq!(modes, [0o600, 0o700, 0o700]);
    for kept in [0o644, 0o640, 0o600] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(kept)).unwrap();
        assert_eq!(save_rule(&file, &format!("exec(mode {kept})")).unwrap(), Saved::Added);
        assert_eq!(mode(&file), kept);
    }
    let mut left: Vec<_> = std::fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".config.toml.lock", "config.toml"]);
}

#[test]
fn a_link_stays_a_link() {
    let fixture = Fixture::new();
    let target = fixture.path().join("dotfiles.toml");
    std::fs::write(&target, "# mine\n").unwrap();
    symlink(&target, fixture.user_file()).unwrap();
    assert_eq!(save_rule(&fixture.user_file(), RULE).unwrap(), Saved::Added);
    assert_eq!(std::fs::read_link(fixture.user_file()).unwrap(), target);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "# mine\n\n[rules]\nallow = [\"exec(cargo test *)\"]\n");
}

#[test]
fn a_draft_that_a_crash_left_is_no_obstacle() {
    let fixture = Fixture::new().user("access = 'read-only'\n");
    let draft = fixture.user_file().with_file_name(".config.toml.new");
    let outside = fixture.path().join("outside");
    std::fs::write(&outside, "untouched").unwrap();
    symlink(&outside, &draft).unwrap();
    assert_eq!(save_rule(&fixture.user_file(), RULE).unwrap(), Saved::Added);
    assert_eq!((std::fs::read_to_string(outside).unwrap().as_str(), draft.symlink_metadata().is_err()), ("untouched", true));
}

#[test]
fn files_that_cannot_have_rules_are_refused_and_unchanged() {
    let check = "`haft config check` shows the place: correct it and try again";
    let own = "fix the file, or make the change by hand";
    let full: Vec<String> = (0..1000).map(|number| format!("'exec({number})'")).collect();
    let full = format!("rules.allow = [{}]", full.join(", "));
    let cases: Vec<(Vec<u8>, String)> = vec![
        (b"access = 'x'\n[rules\n".to_vec(), format!("FILE is not valid TOML in line 2: unclosed table, expected `]`; {check}")),
        (b"access = '\xff'".to_vec(), format!("FILE cannot be used: it is not UTF-8 at byte 10; {own}")),
        (b"rules = 5".to_vec(), format!("'rules' in FILE is not a table; {check}")),
        (b"[[rules]]\nallow = []".to_vec(), format!("'rules' in FILE is not a table; {check}")),
        (b"rules.allow = 'exec(x)'".to_vec(), format!("'rules.allow' in FILE is not a list; {check}")),
        (b"[[rules.allow]]\nx = 1".to_vec(), format!("'rules.allow' in FILE is not a list; {check}")),
        (b"rules.allow = ['a', 5]".to_vec(), format!("'rules.allow' in FILE is not a list of texts; {check}")),
        (full.into_bytes(), format!("FILE cannot be used: 'rules.allow' would have 1001 entries, and may have 1000; {own}")),
        (vec![b'#'; (1 << 20) - 5], format!("FILE cannot be used: it would be larger than 1048576 bytes; {own}")),
        (vec![b'#'; (1 << 20) + 1], format!("FILE cannot be used: it is larger than 1048576 bytes; {own}")),
    ];
    for (bytes, expected) in cases {
        let fixture = Fixture::new().user(&bytes);
        let message = save_rule(&fixture.user_file(), RULE).unwrap_err().to_string();
        let message = message.replace(&format!("'{}'", fixture.user_file().display()), "FILE");
        assert_eq!(message, format!("nothing was saved, because {expected}"));
        assert_eq!(std::fs::read(fixture.user_file()).unwrap(), bytes, "{expected}");
    }
}

#[test]
fn files_that_are_not_for_changing_are_refused() {
    let fixture = Fixture::new().user("# mine\n");
    std::fs::set_permissions(fixture.user_file(), std::fs::Permissions::from_mode(0o444)).unwrap();
    let message = |fixture: &Fixture| save_rule(&fixture.user_file(), RULE).unwrap_err().to_string();
    assert!(message(&fixture).contains("cannot be used: it is read-only; fix the file"), "{}", message(&fixture));
    let dangling = Fixture::new();
    symlink("/nowhere/at/all", dangling.user_file()).unwrap();
    assert!(message(&dangling).contains("cannot be used: it is a symbolic link that leads nowhere"), "{}", message(&dangling));
    let folder = Fixture::new();
    std::fs::create_dir(folder.user_file()).unwrap();
    assert!(message(&folder).contains("cannot be used: it is a folder, not a file"), "{}", message(&folder));
}

#[test]
fn invalid_rules_are_not_saved() {
    let fixture = Fixture::new();
    let long = "x".repeat(65_537);
    let cut = "x".repeat(60);
    for (rule, expected) in [
        ("", "the rule '' cannot be saved: it is empty".to_owned()),
        (" ", "the rule ' ' cannot be saved: it is empty".into()),
        ("exec(a\nb)", "the rule 'exec(a\\nb)' cannot be saved: it holds a control character".into()),
        (&long, format!("the rule '{cut}…' cannot be saved: it is longer than 65536 bytes")),
    ] {
        assert_eq!(save_rule(&fixture.user_file(), rule).unwrap_err().to_string(), expected);
    }
    assert!(!fixture.user_file().exists());
}

#[test]
fn savers_at_once_lose_nothing() {
    const SAVERS: usize = 8;
    const EACH: usize = 10;
    let fixture = Fixture::new().user("# kept\naccess = 'read-only'\n");
    let file = fixture.user_file();
    std::thread::scope(|scope| {
        for saver in 0..SAVERS {
            let file = &file;
            scope.spawn(move || {
                for number in 0..EACH {
                    assert_eq!(save_rule(file, &format!("exec({saver} {number})")).unwrap(), Saved::Added);
                    save_rule(file, "exec(shared)").unwrap();
                }
            });
        }
    });
    let mut rules = texts(&fixture.load(), "rules.allow");
    rules.sort();
    let mut expected: Vec<String> = (0..SAVERS).flat_map(|saver| (0..EACH).map(move |number| format!("exec({saver} {number})"))).collect();
    expected.push("exec(shared)".into());
    expected.sort();
    assert_eq!(rules, expected);
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("# kept\naccess = 'read-only'\n\n[rules]\n"));
}

#[test]
fn several_rules_are_saved_at_once_or_not_at_all() {
    let fixture = Fixture::new().user("[rules]\nallow = [\"exec(b)\"]\n");
    let file = fixture.user_file();
    assert_eq!(save_rules(&file, &["exec(a)", "exec(b)", "exec(c)", "exec(a)"]).unwrap(), Saved::Added);
    let expected = "[rules]\nallow = [\"exec(b)\", \"exec(a)\", \"exec(c)\"]\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(save_rules(&file, &["exec(c)", "exec(a)"]).unwrap(), Saved::AlreadyThere);
    assert!(save_rules(&file, &["exec(d)", "exec(\u{7})"]).is_err());
    let many: Vec<String> = (0..998).map(|number| format!("exec({number})")).collect();
    assert!(save_rules(&file, &many).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected, "one that is refused keeps the others out");
}
