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
fn names_with_any_sign_are_fine_and_unfit_ones_are_told() {
    let help = "use 1 to 128 letters on one line";
    let (longest, too_long, shown) = ("ü".repeat(128), "ü".repeat(129), "ü".repeat(60));
    let signs = "use letters, digits, and '_', '-', '.', '/', ':' or '@'";
    let cases = [
        ("[agents.'openai/gpt-4.1 (new)']".to_owned(), vec![]),
        (format!("[agents.'{longest}']"), vec![]),
        (format!("[agents.'{too_long}']"), vec![format!("1:9 agents 'agents' has the name '{shown}…': it is too long | {help}")]),
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
        assert_eq!(Fixture::new().told(&text), expected, "{text}");
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
fn tables_full_of_names_are_answered_soon() {
    let started = std::time::Instant::now();
    let file = numbered(28_000, |number| format!("channels.c{}.senders.s{}.deny=['a']\n", number / 200, number % 200));
    assert!(file.len() < 1 << 20, "{} bytes are refused for another reason", file.len());
    let loaded = Fixture::new().project(&file).load();
    assert_eq!(loaded.problems, []);
    assert!(loaded.provenance.settings().len() > 25_000);
    assert_eq!(loaded.provenance.entries_at(&["channels", "c99", "senders", "s7", "deny"]).len(), 1);
    // Generous: a square is what this must catch, on any machine.
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn names_that_differ_in_spelling_only_are_an_error() {
    let told = |table: &str, first: &str, second: &str, line: u32, column: usize| {
        format!(
            "error user {line}:{column} {table} '{table}' has the names '{first}' and '{second}', which are the same | put both tables under one name"
        )
    };
    let cases = [
        ("[channels.Telegram]\n[channels.telegram]\n", vec![told("channels", "Telegram", "telegram", 2, 11)]),
        ("[channels.a.senders.42]\n[channels.a.senders.'id:42']\n", vec![told("channels.a.senders", "42", "id:42", 2, 21)]),
        ("[tools.by_provider.openai]\n[tools.by_provider.OpenAI]\n", vec![told("tools.by_provider", "openai", "OpenAI", 2, 20)]),
        ("[groups]\nmy-own = []\nmy_own = []\n", vec![told("groups", "my-own", "my_own", 3, 1)]),
        ("[agents.A]\n[agents.a]\n[channels.b]\n[channels.c]\n", vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(Fixture::new().told(text), expected, "{text}");
    }
}
