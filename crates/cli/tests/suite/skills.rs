//! Skills: the command, and the tool in a conversation.

use haft_testkit::Round;
use serde_json::{Value, json};

use super::family::{children, family, transcript};
use super::harness::World;
use super::model::{Talk, done, in_every_protocol};

fn skill(name: &str, more: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}\n{more}---\n{body}\n")
}

fn put(world: &World, path: &str, text: &str) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn call(tool: &str, arguments: Value) -> Round {
    Round::call(&format!("c-{tool}"), tool, arguments)
}

#[test]
fn skills_are_created_listed_shown_and_checked() {
    let world = World::new();
    let none = world.run(&["skills", "list"]);
    let hint = "there are no skills: `haft skills new NAME` creates one; skills of this project count after `haft trust`";
    assert_eq!((none.code, none.stderr.trim()), (0, hint));
    let new = world.run(&["skills", "new", "release-notes", "--description", "Writes release notes"]);
    assert_eq!((new.code, new.stdout.as_str()), (0, "[world]/config/haft/skills/release-notes/SKILL.md\n"), "{new:?}");
    let again = world.run(&["skills", "new", "release-notes"]);
    assert_eq!((again.code, again.stderr.contains("is there already")), (2, true), "{again:?}");
    assert_eq!(world.run(&["skills", "new", "Bad Name"]).code, 2);
    let listed = world.run(&["skills", "list", "--json"]).json();
    assert_eq!((&listed[0]["name"], &listed[0]["from"]), (&json!("release-notes"), &json!("user")), "{listed}");
    let shown = world.run(&["skills", "show", "release-notes", "--json"]).json();
    assert!(shown["instructions"].as_str().unwrap().contains("# Release Notes"), "{shown}");
    assert_eq!(world.run(&["skills", "check"]).stdout, "1 skill can be used\n");
    put(&world, "config/haft/skills/broken/SKILL.md", "---\nname: broken\n");
    put(&world, "config/haft/skills/odd/SKILL.md", &skill("odd", "allowed-tools: Read, Nope, Bash(git:*), noop(x)\n", "x"));
    let checked = world.run(&["skills", "check"]);
    insta::assert_snapshot!("skills_check", checked.all());
    let missing = world.run(&["skills", "show", "broken"]);
    assert_eq!((missing.code, missing.stderr.contains("the front matter has no end")), (1, true), "{missing:?}");
    let folder = world.path("config/haft/skills/release-notes");
    assert_eq!(world.run(&["skills", "check", folder.to_str().unwrap()]).code, 0);
}

#[test]
fn skills_of_a_project_count_after_trust() {
    let world = World::new();
    world.write(".claude/skills/ours/SKILL.md", skill("ours", "", "Do it."));
    assert_eq!(world.run(&["skills", "list", "--json"]).json(), json!([]));
    let shown = world.run(&["trust", "--show"]);
    insta::assert_snapshot!("trust_show_without_a_file", shown.all());
    assert_eq!(world.run(&["trust", "--json"]).json()["changed"], true);
    assert_eq!(world.run(&["skills", "list", "--json"]).json()[0]["name"], "ours");
    // A file that comes later is not trusted with the folder.
    world.write(".haft/config.toml", "[[hooks]]\nevent = \"before_tool_call\"\ncommand = \"true\"\n");
    assert_eq!(world.run(&["trust", "--show", "--json"]).json()["trusted"], false);
    assert_eq!(world.run(&["trust", "--revoke", "--json"]).json()["changed"], true);
    assert_eq!(world.run(&["skills", "list", "--json"]).json(), json!([]));
}

#[test]
fn skill_is_loaded_with_arguments_and_its_files_and_limits_the_turn_in_every_protocol() {
    in_every_protocol(|protocol| {
        let rounds = vec![
            call("skill", json!({"skill": "review", "args": "main.rs"})),
            call("write_file", json!({"path": "a.txt", "content": "x"})),
            call("skill", json!({"skill": "review", "file": "list.md"})),
            done(),
            call("write_file", json!({"path": "b.txt", "content": "x"})),
            done(),
        ];
        let talk = Talk::new(protocol, rounds);
        put(
            &talk.world,
            "home/.claude/skills/review/SKILL.md",
            &skill("review", "allowed-tools: Read, Grep\n", "Review $ARGUMENTS. See list.md."),
        );
        put(&talk.world, "home/.claude/skills/review/list.md", "1. names\n");
        let first = talk.turn(&["review it"]);
        assert_eq!(first.outcomes(), ["success", "tool_not_available", "success"], "{protocol}: {first:?}");
        let results = talk.results();
        let text = |index: usize| results[index].1.to_string();
        assert!(text(0).contains("Review main.rs. See list.md.") && text(0).contains("Until the end of this turn"), "{}", text(0));
        assert!(text(1).contains("not among the allowed-tools of the skill 'review'"), "{}", text(1));
        assert!(text(2).contains("1. names"), "{}", text(2));
        assert!(!talk.world.file("a.txt").exists());
        let asked = talk.server.asked();
        assert!(asked[0].body.to_string().contains("- review: About review"), "{protocol}: the prompt lists it");
        let second = talk.turn(&["write", "--session", "last"]);
        assert_eq!(second.outcomes(), ["success"], "{protocol}: the limit ended with the turn: {second:?}");
        assert!(talk.world.file("b.txt").exists());
    });
}

#[test]
fn skill_cannot_read_beyond_its_folder() {
    let files = ["../../../../workspace/private.txt", "/etc/hostname", "link.txt"];
    let calls =
        files.iter().enumerate().map(|(index, file)| (format!("c{index}"), "skill".to_owned(), json!({"skill": "a", "file": file})));
    let talk = Talk::new("openai", vec![Round::Calls(calls.collect()), done()]);
    put(&talk.world, "home/.claude/skills/a/SKILL.md", &skill("a", "", "x"));
    std::os::unix::fs::symlink("/etc/hostname", talk.world.path("home/.claude/skills/a/link.txt")).unwrap();
    talk.world.write("private.txt", "private");
    assert_eq!(talk.turn(&["go"]).outcomes(), ["path_not_allowed"; 3]);
}

#[test]
fn contents_of_allowed_tools_leave_the_calls_that_they_cover() {
    let lines = ["git --version", "git --version; ls", "ls", "git status | xargs rm", "$(echo ls)", "git --version > out.txt", "make"];
    let calls = lines.iter().enumerate().map(|(index, line)| (format!("c{index}"), "exec".to_owned(), json!({"command": line})));
    let reads = ["docs/a.md", "b.md"].map(|path| (path.to_owned(), "read_file".to_owned(), json!({"path": path})));
    let rounds = vec![
        call("skill", json!({"skill": "commit"})),
        Round::Calls(calls.chain(reads).collect()),
        done(),
        call("exec", json!({"command": "ls"})),
        done(),
    ];
    let talk = Talk::new("openai", rounds);
    talk.world.write("docs/a.md", "a");
    talk.world.write("b.md", "b");
    let entries = "allowed-tools: Bash(git:*), Bash(make), Read(docs/**)\n";
    put(&talk.world, "home/.claude/skills/commit/SKILL.md", &skill("commit", entries, "Commit it."));
    let first = talk.turn(&["commit"]);
    let results = talk.results();
    let is_denied: Vec<bool> = results.iter().map(|(_, result)| result.to_string().contains("permission_denied")).collect();
    // Where the output of a command goes is for other rules.
    assert_eq!(is_denied, [false, false, true, true, true, true, false, false, false, true], "{first:?}");
    let told = talk.results()[2].1.to_string();
    assert!(
        told.contains("is not covered by the allowed-tools of the skill 'commit'") && told.contains("exec(git *), exec(make)"),
        "{told}"
    );
    assert_eq!(talk.turn(&["list", "--session", "last"]).outcomes(), ["success"], "the limit ended with the turn");
}

#[test]
fn contents_of_allowed_tools_hold_for_sub_agents_of_the_turn() {
    let run = |id: &str, line: &str| (id.to_owned(), "exec".to_owned(), json!({"command": line}));
    let parent = vec![call("skill", json!({"skill": "commit"})), call("agent", json!({"prompt": "Run it."})), done()];
    let child = vec![Round::Calls(vec![run("c1", "git --version"), run("c2", "ls")]), done()];
    let talk = family("openai", "", vec![("PARENT", parent), ("Run it.", child)]);
    put(&talk.world, "home/.claude/skills/commit/SKILL.md", &skill("commit", "allowed-tools: Bash(git:*), Agent\n", "Commit it."));
    talk.turn(&["PARENT"]);
    let lines = transcript(&talk, children(&talk)[0]["id"].as_str().unwrap()).join("\n");
    assert!(lines.contains("result exec success: git version"), "{lines}");
    assert!(lines.contains("result exec error: 'exec /usr/bin/ls' is not covered by the tools of the skill 'commit'"), "{lines}");
}

#[test]
fn scripts_of_a_loaded_skill_run_and_cannot_be_changed() {
    let folder = "home/.claude/skills/greet";
    let exec = |id: &str, line: &str| (id.to_owned(), "exec".to_owned(), json!({"command": line}));
    let talk = Talk::new("openai", Vec::new());
    let script = talk.world.path(folder).join("scripts/hello.sh");
    let run = format!("sh {}", script.display());
    let change = format!("echo 'echo changed' > {}", script.display());
    let rounds = vec![
        Round::Calls(vec![exec("c1", &run)]),
        call("skill", json!({"skill": "greet"})),
        Round::Calls(vec![
            exec("c2", &run),
            exec("c3", &format!("{change}; true")),
            exec("c4", &format!("ls {}/..", talk.world.path(folder).display())),
        ]),
        done(),
    ];
    let talk = talk.next(rounds);
    put(&talk.world, &format!("{folder}/SKILL.md"), &skill("greet", "", "Run scripts/hello.sh."));
    put(&talk.world, &format!("{folder}/scripts/hello.sh"), "echo greetings from a skill\n");
    put(&talk.world, "home/.claude/skills/other/SKILL.md", &skill("other", "", "Never loaded."));
    talk.turn(&["greet"]);
    let results: Vec<String> = talk.results().iter().map(|(_, result)| result.to_string()).collect();
    assert!(!results[0].contains("greetings from a skill"), "not before it is loaded: {}", results[0]);
    assert!(results[1].contains("which commands can read and not change"), "{}", results[1]);
    assert!(results[2].contains("greetings from a skill"), "{}", results[2]);
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "echo greetings from a skill\n", "{}", results[3]);
    assert!(!results[4].contains("other"), "{}", results[4]);
}
