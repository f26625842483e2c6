//! Names that people choose.

use super::fixture::{Fixture, numbered};

#[test]
fn names_are_listed_in_the_order_of_appearance() {
    let loaded = Fixture::new()
        .user("[agents.zed]\n[agents.coder]\nprompt = 'x'\n[channels.'telegram:-100'.senders.'id:42']\ndeny = ['a']\n[channels.b]\n")
        .project("[agents.other]\naccess = 'read-only'\n[agents.coder]\n[channels.new.senders.'id:7']\n")
        .load();
    let names = |path: &[&str]| loaded.provenance.names_beneath(path);
    assert_eq!(names(&["agents"]), ["zed", "coder", "other"]);
    assert_eq!(names(&["channels"]), ["telegram:-100", "b", "new"]);
    assert_eq!(names(&["channels", "telegram:-100", "senders"]), ["id:42"]);
    assert_eq!(names(&["channels", "new", "senders"]), ["id:7"]);
    for none in [&["channels", "b", "senders"][..], &["tools", "by_provider"], &["nowhere"], &[]] {
        assert_eq!(names(none), Vec::<String>::new(), "{none:?}");
    }
}

#[test]
fn names_with_any_character_are_accepted_and_invalid_ones_reported() {
    let help = "use 1 to 128 characters on one line";
    let (longest, too_long, shown) = ("ü".repeat(128), "ü".repeat(129), "ü".repeat(60));
    let signs = "use ASCII letters, digits, and '_', '-', '.', '/', ':' or '@'";
    let cases = [
        ("[channels.'openai/gpt-4.1 (new)']".to_owned(), vec![]),
        (format!("[channels.'{longest}']"), vec![]),
        (format!("[channels.'{too_long}']"), vec![format!("1:11 channels 'channels' has the name '{shown}…': it is too long | {help}")]),
        ("[agents.'']".into(), vec![format!("1:9 agents 'agents' has the name '': it is empty | {help}")]),
        ("[agents.' ']".into(), vec![format!("1:9 agents 'agents' has the name ' ': it is empty | {help}")]),
        (
            "[channels.x.senders.\"id\\u0007\"]".into(),
            vec![format!("1:21 channels.x.senders 'channels.x.senders' has the name 'id\\u{{7}}': it holds a control character | {help}")],
        ),
        ("groups.'@a/b.c-d:e' = []".into(), vec![]),
        ("groups.'group:x' = []".into(), vec![format!("1:8 groups 'groups' has the name 'group:x': it is no name of a group | {signs}")]),
        ("groups.'a b' = []".into(), vec![format!("1:8 groups 'groups' has the name 'a b': it is no name of a group | {signs}")]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(|problem| format!("error user {problem}")).collect();
        assert_eq!(Fixture::new().problems_of(&text), expected, "{text}");
    }
}

#[test]
fn there_are_only_so_many_names() {
    let agents = |count: usize| numbered(count, |number| format!("[agents.a{number:03}]\naccess = 'read-only'\n"));
    assert_eq!(Fixture::new().user(agents(200)).load().provenance.names_beneath(&["agents"]).len(), 200);
    let fixture = Fixture::new().project(agents(201));
    let loaded = fixture.load();
    assert_eq!(fixture.problems(&loaded), ["error project 401:9 agents 'agents' has 201 names | use at most 200"]);
    assert_eq!(loaded.provenance.names_beneath(&["agents"]), Vec::<String>::new());
}

#[test]
fn tables_full_of_names_take_time_as_they_are_long() {
    let time = |names: usize| {
        let file = numbered(names, |number| format!("channels.c{}.senders.s{}.deny=['a']\n", number / 200, number % 200));
        assert!(file.len() < 1 << 20, "{} bytes are refused for another reason", file.len());
        let started = std::time::Instant::now();
        let loaded = Fixture::new().project(&file).load();
        let elapsed = started.elapsed();
        assert_eq!(loaded.problems, []);
        assert!(loaded.provenance.settings().len() > names);
        assert_eq!(loaded.provenance.value_at(&["channels", "c4", "senders", "s7", "deny"]).entries().len(), 1);
        elapsed
    };
    // The quickest of three, so that a busy machine does not count; a square would take 64 times as long.
    let quickest = |names: usize| (0..3).map(|_| time(names)).min().unwrap_or_default();
    let (few, many) = (quickest(1_000), quickest(8_000));
    assert!(many < few * 32, "{few:?} for 1,000 names, {many:?} for 8,000");
}

#[test]
fn names_that_differ_in_spelling_only_are_an_error() {
    let message = |table: &str, first: &str, second: &str, line: u32, column: usize| {
        format!(
            "error user {line}:{column} {table} '{table}' has the names '{first}' and '{second}', which are the same | put both tables under one name"
        )
    };
    let cases = [
        ("[channels.Telegram]\n[channels.telegram]\n", vec![message("channels", "Telegram", "telegram", 2, 11)]),
        ("[channels.a.senders.42]\n[channels.a.senders.'id:42']\n", vec![message("channels.a.senders", "42", "id:42", 2, 21)]),
        ("[tools.by_provider.openai]\n[tools.by_provider.OpenAI]\n", vec![message("tools.by_provider", "openai", "OpenAI", 2, 20)]),
        ("[groups]\nmy-own = []\nmy_own = []\n", vec![message("groups", "my-own", "my_own", 3, 1)]),
        ("[channels.a.senders.'ID:42']\n[channels.a.senders.42]\n", vec![message("channels.a.senders", "ID:42", "42", 2, 21)]),
        (
            "[channels.a.senders.'name:Ann']\n[channels.a.senders.'Name: ann']\n",
            vec![message("channels.a.senders", "name:Ann", "Name: ann", 2, 21)],
        ),
        ("[channels.a.senders.U1]\n[channels.a.senders.u1]\n", vec![]),
        ("[tools.by_provider.'a/gpt-4']\n[tools.by_provider.'a/gpt_4']\n", vec![]),
        ("[agents.A]\n[agents.' a ']\n[channels.b]\n[channels.c]\n", vec![message("agents", "A", " a ", 2, 9)]),
        ("[agents.a-b]\n[agents.a_b]\n[agents.'a.b']\n", vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(Fixture::new().problems_of(text), expected, "{text}");
    }
}

#[test]
fn an_agent_has_one_spelling_in_all_layers() {
    let loaded = Fixture::new()
        .user("[agents.Main]\ntools.deny = ['a']\n[agents.' Coder ']\nmodel = 'x'\n")
        .project("[agents.MAIN]\naccess = 'read-only'\ntools.deny = ['b']\n[agents.coder]\n")
        .load();
    let settings = &loaded.provenance;
    assert_eq!(settings.names_beneath(&["agents"]), ["main", "coder"]);
    let denied: Vec<&str> =
        settings.value_at(&["agents", "main", "tools", "deny"]).entries().iter().map(|entry| entry.value.as_str()).collect();
    assert_eq!((denied, settings.was_set(&["agents", "main", "access"])), (vec!["a", "b"], true));
}

#[test]
fn an_agent_that_could_never_be_named_is_an_error() {
    let help = "an agent's name has 1 to 64 alphanumeric characters, '_', '-' or '.'";
    let (longest, too_long) = ("ü".repeat(64), "ü".repeat(65));
    for (name, fit) in [
        ("a_B-1.ü", true),
        (" a ", true),
        (&longest, true),
        (&too_long, false),
        ("a b", false),
        ("a/b", false),
        ("a:b", false),
        ("*", false),
    ] {
        let shown = if name == too_long { format!("{}…", "ü".repeat(60)) } else { name.to_owned() };
        let message = format!("error user 1:9 agents 'agents' has the name '{shown}': no agent can be called so | {help}");
        assert_eq!(Fixture::new().problems_of(&format!("[agents.'{name}']")), if fit { vec![] } else { vec![message] }, "{name}");
        assert_eq!(haft_config::agent_name(name), if fit { Ok(name.trim().to_lowercase()) } else { Err(help.to_owned()) }, "{name}");
    }
}
