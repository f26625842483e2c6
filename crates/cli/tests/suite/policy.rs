//! Agents, presets, dialects, trust, and policies that are tried out.

use std::fs;

use serde_json::{Value, json};

use super::harness::World;

fn verdict(world: &World, words: &[&str]) -> String {
    let words = [&["explain", "--json"], words].concat();
    world.run(&words).json()["verdict"].as_str().unwrap().to_owned()
}

fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let words = [&["tools", "--json"], words].concat();
    world.run(&words).json().as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_agent_has_its_own_lists_and_access() {
    let world = World::with_config(
        "[agents.reader]\naccess = \"read-only\"\n[agents.reader.tools]\nallow = [\"group:fs\"]\n[agents.boss]\naccess = \"full-access\"\n",
    );
    assert_eq!(offered(&world, &["--agent", "reader"]), ["read_file", "write_file"]);
    let writing = ["write_file", "--path", "a", "--content", "b", "--agent"];
    assert_eq!(verdict(&world, &[&writing[..], &["reader"]].concat()), "deny");
    assert_eq!(verdict(&world, &[&writing[..], &["main"]].concat()), "allow");
    let outside = ["read_file", "--path", "../x", "--agent", "boss"];
    assert_eq!(verdict(&world, &outside), "deny", "an agent's access never exceeds the session's");
    let refused = world.run(&["explain", "write_file", "--path", "a", "--content", "b", "--agent", "reader", "--json"]).json();
    let entry = refused["trace"].as_array().unwrap().iter().find(|entry| entry["outcome"] == "deny").unwrap().clone();
    let expected = json!({
        "step": "access level", "outcome": "deny", "entry": "write needs workspace-write, the session has read-only",
        "file": "[world]/config/haft/config.toml", "line": 2,
    });
    assert_eq!(entry, expected);
}

#[test]
fn presets_set_access_and_asking_and_flags_win_over_them() {
    let world = World::new();
    let writing = ["write_file", "--path", "a", "--content", "b"];
    let outside = ["read_file", "--path", "../x"];
    for (preset, writes, reads_outside) in
        [("ask", "ask", "deny"), ("auto", "allow", "ask"), ("readonly", "deny", "deny"), ("full", "allow", "allow")]
    {
        assert_eq!(verdict(&world, &[&writing[..], &["--preset", preset]].concat()), writes, "{preset}");
        assert_eq!(verdict(&world, &[&outside[..], &["--preset", preset]].concat()), reads_outside, "{preset}");
    }
    assert_eq!(verdict(&world, &[&writing[..], &["--preset", "readonly", "--access", "workspace-write"]].concat()), "allow");
    let shown = world.run(&["config", "show", "--json", "--preset", "readonly"]).json();
    let access = shown.as_array().unwrap().iter().find(|row| row["key"] == "access").unwrap().clone();
    assert_eq!((&access["value"], &access["source"]["name"]), (&json!("read-only"), &json!("--preset")), "{access}");
    let wrong = world.run(&["tools", "--preset", "readonyl"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("readonly"), "{wrong:?}");
}

#[test]
fn a_dialect_shows_the_names_of_its_family_and_all_of_them_are_understood() {
    let world = World::new();
    assert_eq!(offered(&world, &["--dialect", "openclaw"])[..2], ["read", "write"]);
    world.write("a.txt", "one\ntwo\n");
    for name in ["read", "Read", "read_file", "READ-FILE"] {
        assert_eq!(world.call(name, &json!({"path": "a.txt"})).1["status"], "success", "{name}");
    }
    let wrong = world.run(&["tools", "--dialect", "klingon"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("haft, claw or openclaw"), "{wrong:?}");
}

#[test]
fn anyone_can_be_asked_about() {
    let world = World::with_config(
        "[tools.by_provider.\"acme/small\"]\ndeny = [\"noop\"]\n[channels.chat.senders.\"id:7\"]\ndeny = [\"noop\"]\n\
         [subagents.tools]\ndeny = [\"noop\"]\n[sandbox.tools]\nallow = [\"read_file\"]\n",
    );
    for (words, expected) in [
        (&[][..], "allow"),
        (&["--provider", "acme/small"], "deny"),
        (&["--provider", "ACME"], "allow"),
        (&["--channel", "chat:1", "--sender", "id:7"], "deny"),
        (&["--channel", "chat:1", "--sender", "id:8"], "allow"),
        (&["--depth", "1"], "deny"),
        (&["--sandboxed"], "deny"),
    ] {
        assert_eq!(verdict(&world, &[&["noop"], words].concat()), expected, "behind the tool: {words:?}");
        let before = [&["explain", "--json"], words, &["noop"]].concat();
        assert_eq!(world.run(&before).json()["verdict"], expected, "before the tool: {words:?}");
        assert_eq!(offered(&world, words).contains(&"noop".to_owned()), expected == "allow", "listed: {words:?}");
    }
}

#[test]
fn the_table_of_all_tools_says_what_decided() {
    let world = World::with_config("[tools]\ndeny = [\"http_*\"]\n[rules]\nask = [\"notify\"]\n");
    let ran = world.run_with(&[("COLUMNS", "100")], &["explain", "--all"]);
    insta::assert_snapshot!("explain_all", ran.all());
    let data = world.run(&["explain", "--all", "--json"]).json();
    let verdicts: Vec<(&str, &str)> =
        data.as_array().unwrap().iter().map(|tool| (tool["tool"].as_str().unwrap(), tool["verdict"].as_str().unwrap())).collect();
    assert!(verdicts.contains(&("http_request", "deny")) && verdicts.contains(&("notify", "ask")), "{verdicts:?}");
}

/// A hook that leaves a mark when it runs.
fn project_with_hook(world: &World) -> String {
    let mark = world.path("mark");
    let text = format!("[[hooks]]\nevent = \"before_tool_call\"\ncommand = \"echo ran >> {}\"\n", mark.display());
    world.write(".haft/config.toml", &text);
    text
}

fn marks(world: &World) -> usize {
    fs::read_to_string(world.path("mark")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_projects_hook_runs_only_while_its_file_is_trusted() {
    let world = World::new();
    let text = project_with_hook(&world);
    let call = || world.call("noop", &json!({})).0;
    assert_eq!((call(), marks(&world)), (0, 0), "before trust");
    let shown = world.run(&["trust", "--show"]);
    assert!(shown.stdout.contains("It would start\n  hook on before_tool_call: echo ran >> [world]/mark"), "{shown:?}");
    assert_eq!((call(), marks(&world)), (0, 0), "showing is not trusting");
    assert_eq!(world.run(&["trust", "--json"]).json()["trusted"], true);
    assert_eq!((call(), marks(&world)), (0, 1), "trusted");
    world.write(".haft/config.toml", format!("{text}# changed\n"));
    assert_eq!((call(), marks(&world)), (0, 1), "the file changed");
    world.write(".haft/config.toml", &text);
    assert_eq!((call(), marks(&world)), (0, 2), "as it was again");
    assert_eq!(world.run(&["trust", "--revoke", "--json"]).json(), json!({"trusted": false, "changed": true}));
    assert_eq!((call(), marks(&world)), (0, 2), "revoked");
    let checked = world.run(&["config", "check"]);
    assert!(checked.code == 0 && checked.stdout.contains("haft trust"), "{checked:?}");
}

#[test]
fn explaining_runs_no_hook() {
    let world = World::new();
    let mark = world.path("mark");
    let text = format!("[[hooks]]\nevent = \"before_tool_call\"\ncommand = \"echo ran >> {}\"\n", mark.display());
    fs::write(world.path("config/haft/config.toml"), text).unwrap();
    assert_eq!(verdict(&world, &["noop", "{}"]), "allow");
    assert_eq!(marks(&world), 0);
    world.call("noop", &json!({}));
    assert_eq!(marks(&world), 1);
}

#[test]
fn trust_never_widens_and_says_what_is_ignored() {
    let world = World::with_config("[tools]\ndeny = [\"notify\"]\n");
    world.write(".haft/config.toml", "access = \"full-access\"\n[tools]\nalso_allow = [\"notify\"]\n[rules]\nallow = [\"notify\"]\n");
    let trusted = world.run(&["trust", "--json"]).json();
    assert_eq!((&trusted["starts"], trusted["ignored"].as_array().unwrap().len()), (&json!([]), 3), "{trusted}");
    assert_eq!(verdict(&world, &["notify"]), "deny");
    assert_eq!(verdict(&world, &["read_file", "--path", "../x"]), "deny");
}

#[test]
fn a_file_with_faults_cannot_be_trusted() {
    let world = World::new();
    world.write(".haft/config.toml", "[[hooks]]\nevent = \"before\"\ncommand = \"true\"\n");
    let ran = world.run(&["trust"]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot be trusted while it has faults"), "{ran:?}");
}

#[test]
fn examples_pass_fail_and_are_refused_in_words() {
    let world = World::with_config("[rules]\ndeny = [\"write(docs/**)\"]\n");
    let case = |extra: &str| format!("[[case]]\ntool = \"write_file\"\narguments = {{ path = \"docs/a\", content = \"x\" }}\n{extra}");
    world.write("good.toml", case("expect = \"deny\"\nstep = \"rules\"\n"));
    world.write("bad.toml", case("name = \"docs\"\nexpect = \"allow\"\n") + &case("expect = \"deny\"\nstep = \"global\"\n"));
    world.write("wrong.toml", case("expect = \"maybe\"\n"));
    world.write("empty.toml", "");
    let runs = ["good", "bad", "wrong", "empty", "missing"].map(|name| world.run(&["policy", "test", &format!("{name}.toml")]).all());
    insta::assert_snapshot!("policy_test", runs.join("\n"));
    let data: Value = world.run(&["policy", "test", "bad.toml", "--json"]).json();
    assert_eq!((&data[0]["name"], &data[0]["got"], &data[0]["passed"]), (&json!("docs"), &json!("deny"), &json!(false)));
}

#[test]
fn past_calls_are_judged_by_another_policy() {
    let world = World::new();
    for path in ["a", "a", "docs/b"] {
        world.call("write_file", &json!({"path": path, "content": "x"}));
    }
    world.call("noop", &json!({}));
    world.call("not_a_tool", &json!({}));
    world.write("stricter.toml", "[rules]\ndeny = [\"write(docs/**)\"]\n");
    let ran = world.run(&["policy", "simulate", "--config", "stricter.toml", "--json"]);
    let expected = json!({
        "differences": [{
            "tool": "write_file", "target": "docs/b", "was": "allow", "now": "deny", "calls": 1,
            "because": "the step 'rules': deny write(docs/**), [world]/workspace/stricter.toml:2",
        }],
        "same": 3, "unknown": 1,
    });
    assert_eq!((ran.code, ran.json()), (0, expected));
    assert_eq!(world.run(&["policy", "simulate", "--json"]).json()["differences"], json!([]));
    let readonly = world.run(&["policy", "simulate", "--preset", "readonly", "--json"]).json();
    let counts: Vec<&Value> = readonly["differences"].as_array().unwrap().iter().map(|difference| &difference["calls"]).collect();
    assert_eq!(counts, [&json!(2), &json!(1)], "{readonly}");
}

#[test]
fn a_policy_that_leaves_no_tool_is_pointed_out() {
    let world = World::with_config("[agents.idle.tools]\ndeny = [\"*\"]\n");
    let ran = world.run(&["config", "check"]);
    assert!(ran.code == 0 && ran.stdout.contains("no tool is left for the agent 'idle'"), "{ran:?}");
    assert!(!ran.stdout.contains("'main'"), "{ran:?}");
}

#[test]
fn hooks_of_the_person_block_rewrite_and_answer() {
    let world = World::with_config(
        r#"
[[hooks]]
name = "guard"
event = "before_tool_call"
match = ["effect:write"]
command = "case $(cat) in *secret*) echo 'not secrets' >&2; exit 2;; esac"

[[hooks]]
event = "before_tool_call"
match = ["noop"]
command = "echo '{\"answer\":\"from the hook\"}'"
"#,
    );
    let (_, refused) = world.call("write_file", &json!({"path": "secret.txt", "content": "x"}));
    assert_eq!((&refused["error_type"], &refused["message"]), (&json!("blocked"), &json!("Blocked by the hook 'guard': not secrets")));
    assert_eq!(world.call("write_file", &json!({"path": "a.txt", "content": "x"})).1["status"], "success");
    assert_eq!(world.call("noop", &json!({})).1["result"], "from the hook");
}

#[test]
fn a_broken_file_of_the_person_stops_everything_that_decides() {
    let world = World::with_config("[rules]\ndeny = [\"exec(git push *\"]\n");
    for words in [&["tools"][..], &["call", "noop"], &["explain", "noop"], &["policy", "simulate"], &["config", "check"]] {
        let ran = world.run(words);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code == 2 && said.contains("config.toml:2:"), "{words:?}: {ran:?}");
    }
}
