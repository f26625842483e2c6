//! Changing an agent's table: everything else in the file stays.

use std::os::unix::fs::PermissionsExt;

use haft_config::{AgentEdit, OwnFile};

use super::fixture::Fixture;

fn set(key: &'static str, value: &str) -> AgentEdit {
    AgentEdit::Set { key, value: value.into() }
}

fn add(key: &'static str, entry: &str) -> AgentEdit {
    AgentEdit::Add { key, entry: entry.into() }
}

fn remove(key: &'static str, entry: &str) -> AgentEdit {
    AgentEdit::Remove { key, entry: entry.into() }
}

fn only(entries: &[&str]) -> AgentEdit {
    AgentEdit::SetList { key: "tools.allow", entries: entries.iter().map(ToString::to_string).collect() }
}

fn unset(key: &'static str) -> AgentEdit {
    AgentEdit::Unset { key }
}

/// The text after the changes, which must load.
fn changed(text: &str, edits: &[AgentEdit]) -> String {
    let fixture = Fixture::new().user(text);
    let file = OwnFile::read(&fixture.user_file()).unwrap();
    let changed = file.with_agent("coder", edits).unwrap();
    let loaded = Fixture::new().user(&changed).load();
    assert_eq!(loaded.errors().collect::<Vec<_>>(), Vec::<&haft_config::Problem>::new(), "{text}\n{changed}");
    changed
}

#[test]
fn a_new_agent_stands_at_the_end() {
    let model = || set("model", "work/x");
    for (before, edits, after) in [
        ("", vec![AgentEdit::Create], "[agents.coder]\n"),
        ("", vec![model()], "[agents.coder]\nmodel = \"work/x\"\n"),
        ("", vec![add("tools.deny", "x")], "[agents.coder.tools]\ndeny = [\"x\"]\n"),
        (
            "access = 'read-only' # why\n# the end\n",
            vec![model(), add("tools.deny", "x"), add("tools.deny", "y"), add("tools.deny", "x")],
            "access = 'read-only' # why\n# the end\n\n[agents.coder]\nmodel = \"work/x\"\n\n[agents.coder.tools]\ndeny = [\"x\", \"y\"]\n",
        ),
        (
            "[agents.a]\nmodel = 'a/b'\n\n# of rules\n[rules]\ndeny = ['exec']\n# the end",
            vec![add("tools.deny", "x"), model()],
            "[agents.a]\nmodel = 'a/b'\n\n# of rules\n[rules]\ndeny = ['exec']\n# the end\n\n\
             [agents.coder]\nmodel = \"work/x\"\n\n[agents.coder.tools]\ndeny = [\"x\"]\n",
        ),
        (
            "agents = {}\n",
            vec![model(), add("tools.deny", "x")],
            "agents = { coder = { model = \"work/x\", tools = { deny = [\"x\"] } } }\n",
        ),
        (
            "agents.a.model = 'a/b'\n[rules]\n",
            vec![add("tools.deny", "x")],
            "agents.a.model = 'a/b'\n[rules]\n\n[agents.coder.tools]\ndeny = [\"x\"]\n",
        ),
    ] {
        assert_eq!(changed(before, &edits), after, "{before}");
    }
}

#[test]
fn everything_around_a_change_stays_as_it_was_written() {
    for (before, edits, after) in [
        (
            "# mine\r\n[agents.Coder] # big\r\nmodel  = 'a/b' # why\r\n[rules]\n# mixed\r\n",
            vec![set("model", "work/x"), add("tools.deny", "x"), set("prompt", "Be careful.")],
            "# mine\r\n[agents.Coder] # big\r\nmodel  = \"work/x\" # why\r\nprompt = \"Be careful.\"\r\n\r\n\
             [agents.Coder.tools]\r\ndeny = [\"x\"]\r\n[rules]\n# mixed\r\n",
        ),
        (
            "[agents.coder.tools]\ndeny = [ 'a', 'b' ] # not these\n",
            vec![remove("tools.deny", "a"), add("tools.also_allow", "c"), set("tools.profile", "coding")],
            "[agents.coder.tools]\ndeny = [ 'b' ] # not these\nalso_allow = [\"c\"]\nprofile = \"coding\"\n",
        ),
        (
            "[tools]\ndeny = ['z']\n\n[agents.coder.tools]\ndeny = ['b']\n",
            vec![set("model", "work/x")],
            "[tools]\ndeny = ['z']\n\n[agents.coder]\nmodel = \"work/x\"\n\n[agents.coder.tools]\ndeny = ['b']\n",
        ),
        (
            "agents.coder.model = 'a/b' # why\naccess = 'read-only'\n",
            vec![set("model", "c/d"), add("tools.deny", "x")],
            "agents.coder.model = \"c/d\" # why\nagents.coder.tools.deny = [\"x\"]\naccess = 'read-only'\n",
        ),
        (
            "agents = { coder = { model = 'a/b' } }\n",
            vec![set("access", "read-only"), only(&["a", "b"])],
            "agents = { coder = { model = 'a/b', access = \"read-only\", tools = { allow = [\"a\", \"b\"] } } }\n",
        ),
        ("[agents.coder]\nmodel = 'a/b'\n", vec![set("model", "a/b")], "[agents.coder]\nmodel = 'a/b'\n"),
        ("[agents.coder.tools]\nallow = ['x' ]\n", vec![only(&["x"])], "[agents.coder.tools]\nallow = ['x' ]\n"),
        ("[agents.coder.tools]\nallow = ['x'] # few\n", vec![only(&[])], "[agents.coder.tools]\nallow = [] # few\n"),
        ("\u{feff}[agents.coder]\n", vec![set("prompt", "a\n\"b\"")], "\u{feff}[agents.coder]\nprompt = \"\"\"\na\n\"b\"\"\"\"\n"),
    ] {
        assert_eq!(changed(before, &edits), after, "{before}");
    }
}

#[test]
fn a_key_goes_with_its_lines_and_comments_above_stay() {
    for (before, edits, after) in [
        (
            "[agents.coder]\n# the big one\nmodel = 'a/b' # why\n# calm\nprompt = 'x'\n",
            vec![unset("model")],
            "[agents.coder]\n# the big one\n# calm\nprompt = 'x'\n",
        ),
        (
            "\u{feff}[agents.coder.tools]\r\ndeny = [\r\n  'a', # one\r\n  'b',\r\n]\r\nallow = ['c']\r\n",
            vec![unset("tools.deny"), unset("tools.allow"), unset("prompt")],
            "\u{feff}[agents.coder.tools]\r\n",
        ),
        ("agents.coder.model = 'a/b'\naccess = 'read-only'\n", vec![unset("model")], "access = 'read-only'\n"),
        ("agents = { coder = { model = 'a/b', prompt = 'x' } }\n", vec![unset("model")], "agents = { coder = { prompt = 'x' } }\n"),
        ("[agents.coder]\nmodel = 'a/b'", vec![unset("model")], "[agents.coder]\n"),
        ("# nobody\n", vec![unset("model"), unset("tools.deny"), remove("tools.deny", "x")], "# nobody\n"),
        ("[agents.coder.tools]\n", vec![AgentEdit::Create, remove("tools.deny", "x")], "[agents.coder.tools]\n"),
    ] {
        assert_eq!(changed(before, &edits), after, "{before}");
    }
}

#[test]
fn a_prompt_of_several_lines_comes_back_as_it_was() {
    for before in ["", "# a\r\n# b\r\n", "[agents.coder]\r\nprompt = \"\"\"\r\nold\r\nlines\"\"\" # why\r\n"] {
        for prompt in ["One.\nTwo.", "\n\n'''\"\"\"\\ \u{7}\n", "Tabs\tand\u{1b}\u{7f}"] {
            let fixture = Fixture::new().user(changed(before, &[set("prompt", prompt), set("access", "read-only")]));
            let loaded = fixture.load();
            let value = &loaded.provenance.get_at(&["agents", "coder", "prompt"]).unwrap().value;
            assert_eq!(value, &haft_config::ConfigValue::Text(prompt.to_owned()), "{before:?}");
        }
    }
}

#[test]
fn names_that_are_no_plain_words_are_quoted() {
    let fixture = Fixture::new();
    let text = OwnFile::read(&fixture.user_file()).unwrap().with_agent("a.b", &[set("model", "c/d")]).unwrap();
    assert_eq!(text, "[agents.\"a.b\"]\nmodel = \"c/d\"\n");
}

#[test]
fn keys_of_another_type_are_refused() {
    let check = "`haft config check` shows the place: correct it and try again";
    for (text, edit, expected) in [
        ("agents = 5\n", set("model", "a/b"), format!("'agents' in FILE is not a table; {check}")),
        ("agents.coder = 5\n", add("tools.deny", "x"), format!("'agents.coder' in FILE is not a table; {check}")),
        ("[agents.coder]\ntools = 'x'\n", add("tools.deny", "x"), format!("'agents.coder.tools' in FILE is not a table; {check}")),
        ("[agents.coder.model]\n", set("model", "a/b"), format!("'agents.coder.model' in FILE is not a value; {check}")),
        (
            "[agents.coder.tools]\ndeny = [1]\n",
            add("tools.deny", "x"),
            format!("'agents.coder.tools.deny' in FILE is not a list of texts; {check}"),
        ),
        ("[agents\n", unset("model"), format!("FILE is not valid TOML in line 1: unclosed table, expected `]`; {check}")),
    ] {
        let fixture = Fixture::new().user(text);
        let message = OwnFile::read(&fixture.user_file()).unwrap().with_agent("coder", &[edit]).unwrap_err().to_string();
        assert_eq!(
            message.replace(&format!("'{}'", fixture.user_file().display()), "FILE"),
            format!("nothing was saved, because {expected}")
        );
    }
}

#[test]
fn file_is_replaced_and_restored() {
    for before in [None, Some("# mine\n")] {
        let fixture = before.into_iter().fold(Fixture::new(), Fixture::user);
        let file = fixture.user_file();
        let now = || std::fs::read_to_string(&file).ok();
        let replaced = OwnFile::read(&file).unwrap().replace("# new\n".into()).unwrap();
        assert_eq!(now().as_deref(), Some("# new\n"));
        replaced.restore().unwrap();
        assert_eq!(now().as_deref(), before);
    }
}

#[test]
fn concurrent_changes_are_not_lost() {
    let fixture = Fixture::new().user("# mine\n");
    let file = fixture.user_file();
    let changed = format!("nothing was saved, because '{}' was changed meanwhile; look at it, and try again", file.display());
    let own = OwnFile::read(&file).unwrap();
    std::fs::write(&file, "# theirs\n").unwrap();
    assert_eq!(own.replace("# new\n".into()).unwrap_err().to_string(), changed);
    let replaced = OwnFile::read(&file).unwrap().replace("# new\n".into()).unwrap();
    std::fs::write(&file, "# theirs again\n").unwrap();
    assert_eq!(replaced.restore().unwrap_err().to_string(), changed);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# theirs again\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).unwrap();
    assert!(OwnFile::read(&file).unwrap_err().to_string().contains("it is read-only"));
}
