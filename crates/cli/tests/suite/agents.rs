//! `haft agents`: who there is, and how they are changed in the user's file without anything else changing.

use std::fs;
use std::process::Command;

use haft_testkit::{ModelServer, Round};
use serde_json::{Value, json};

use super::harness::{Ran, World};
use super::terminal::{Program, seen, shown_to};

const CONFIG: &str = "# mine\nmodel = 'anthropic/claude-sonnet-4-5' # for all\n\n[tools]\ndeny = ['noop']\n\n\
                      [agents.Coder]  # big\nprompt = \"\"\"\nYou are careful.\nAnd brief.\"\"\"\n\n\
                      [agents.Coder.tools]\nprofile = 'coding'\n# the end\n";
const QUIET: &[(&str, &str)] = &[("NO_COLOR", "1"), ("HAFT_LOCAL_MODELS", "")];

fn file(world: &World) -> String {
    fs::read_to_string(world.path("config/haft/config.toml")).unwrap()
}

fn edit(world: &World, words: &[&str]) -> Ran {
    world.run(&[&["agents", "edit"], words].concat())
}

/// The config with this in place of its last table, and this behind it.
fn coder(own: &str, tools: &str) -> String {
    let before = CONFIG.split("\n[agents.Coder.tools]").next().unwrap();
    format!("{before}{own}\n[agents.Coder.tools]\nprofile = 'coding'\n{tools}# the end\n")
}

/// The names of the tools that an agent is offered, and how many there are.
fn tools(world: &World, agent: &str) -> (Vec<String>, usize) {
    let all = world.run(&["tools", "--json", "--all", "--agent", agent]).json();
    let all = all.as_array().unwrap();
    let offered = all.iter().filter(|tool| tool["available"] == true).map(|tool| tool["name"].as_str().unwrap().to_owned());
    (offered.collect(), all.len())
}

fn share(world: &World, agent: &str) -> String {
    let (offered, all) = tools(world, agent);
    format!("{} of {all}", offered.len())
}

#[test]
fn everyone_is_listed_and_main_is_always_there() {
    let world = World::with_config(CONFIG);
    let (main, coder) = (share(&world, "main"), share(&world, "coder"));
    let width = main.len().max(coder.len()).max("TOOLS".len());
    let table = format!(
        "NAME   MODEL                        ACCESS           {:width$}  PROMPT\n\
         main   anthropic/claude-sonnet-4-5  workspace-write  {main}\n\
         coder  anthropic/claude-sonnet-4-5  workspace-write  {coder:width$}  You are careful.\n",
        "TOOLS"
    );
    assert_eq!(world.run(&["agents", "list"]).stdout, table);
    let narrow = world.run_with(&[("COLUMNS", "40")], &["agents", "list"]).stdout;
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    let world = World::new();
    let (offered, all) = tools(&world, "main");
    let counts = json!({"offered": offered.len(), "total": all});
    let main = json!({"name": "main", "model": null, "access": "workspace-write", "tools": counts, "prompt": null});
    assert_eq!(world.run(&["agents", "list", "--json"]).json(), json!([main]));
    assert!(world.run(&["agents", "list"]).stdout.contains("main  not set"));
}

#[test]
fn an_agent_is_shown_with_its_sources_and_why_a_tool_is_not_there() {
    let world = World::with_config(CONFIG);
    let ran = world.run_with(&[("COLUMNS", "90")], &["agents", "show", "CODER"]);
    let list = world.run_with(&[("COLUMNS", "88")], &["tools", "--agent", "coder"]).stdout;
    let list: Vec<String> = list.lines().map(|line| format!("  {line}")).collect();
    let expected = format!(
        "coder\n\n\
         model   anthropic/claude-sonnet-4-5  [world]/config/haft/config.toml:2:9\n\
         access  workspace-write              built-in\n\n\
         Prompt ([world]/config/haft/config.toml:8:10)\n  You are careful.\n  And brief.\n\n\
         Policy\n  agents.coder.tools.profile  \"coding\"  [world]/config/haft/config.toml:13:11\n\n\
         Tools: {} are offered\n{}\n",
        share(&world, "coder"),
        list.join("\n")
    );
    assert_eq!((ran.code, ran.stdout), (0, expected));
    let notify = "  [ ] notify            - Show a notification to the user at this machine\n                          (removed by the step 'profile'";
    assert!(list.join("\n").contains(notify), "{list:?}");
    let shown = world.run(&["agents", "show", "coder", "--json"]).json();
    let source =
        |line: u32, column: u32| json!({"layer": "user", "file": "[world]/config/haft/config.toml", "line": line, "column": column});
    assert_eq!(shown["model"], json!({"value": "anthropic/claude-sonnet-4-5", "source": source(2, 9)}));
    assert_eq!(shown["policy"], json!([{"key": "agents.coder.tools.profile", "value": ["coding"], "source": source(13, 11)}]));
    let tool = |name: &str| shown["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
    assert_eq!(
        tool("read_file"),
        json!({"name": "read_file", "description": "Read the contents of a file from local storage", "offered": true})
    );
    assert_eq!(tool("notify")["removed_by"]["step"], "profile");
    let missing = world.run(&["agents", "show", "codr"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert!(missing.stderr.contains("there is no agent 'codr'\nhelp: did you mean 'coder'?"), "{missing:?}");
}

#[test]
fn the_lists_of_a_models_provider_count_for_its_agents() {
    let world = World::with_config("model = 'openai/gpt-5'\n[tools.by_provider.openai]\ndeny = ['notify']\n");
    assert_eq!(world.run(&["agents", "list", "--json"]).json()[0]["tools"]["offered"], tools(&world, "main").0.len() - 1);
    let ran = edit(&world, &["main", "--tool", "notify"]);
    assert!(ran.code == 2 && ran.stderr.contains("removed by the step 'global per provider': deny notify"), "{ran:?}");
}

#[test]
fn each_change_is_the_smallest_and_everything_else_stays() {
    let new = |table: &str| format!("{CONFIG}\n{table}");
    for (words, expected) in [
        (&["coder", "--no-tool", "write_file"][..], coder("", "deny = [\"write_file\"]\n")),
        (&["coder", "--no-tool", "write", "--no-tool", "bash"], coder("", "deny = [\"write_file\", \"exec\"]\n")),
        (&["coder", "--tool", "notify", "--tool", "http_request"], coder("", "also_allow = [\"notify\", \"http_request\"]\n")),
        (&["coder", "--access", "read-only", "--model", "demo"], coder("model = \"demo\"\naccess = \"read-only\"\n", "")),
        (&["coder", "--only", "read_file,notify"], coder("", "allow = [\"read_file\", \"notify\"]\nalso_allow = [\"notify\"]\n")),
        (&["coder", "--profile", "full"], CONFIG.replace("profile = 'coding'", "profile = \"full\"")),
        (&["coder", "--prompt", "Be bold."], CONFIG.replace("\"\"\"\nYou are careful.\nAnd brief.\"\"\"", "\"Be bold.\"")),
        (&["coder", "--unset", "profile", "--unset", "prompt"], "# mine\nmodel = 'anthropic/claude-sonnet-4-5' # for all\n\n[tools]\ndeny = ['noop']\n\n[agents.Coder]  # big\n\n[agents.Coder.tools]\n# the end\n".to_owned()),
        (&["Reader", "--create"], new("[agents.reader]\n")),
        (&["reader", "--yes", "--only", "group:fs,get_*"], new("[agents.reader.tools]\nallow = [\"group:fs\", \"get_*\"]\n")),
        (&["main", "--no-tool", "notify"], new("[agents.main.tools]\ndeny = [\"notify\"]\n")),
        (&["main", "--only", ""], new("[agents.main.tools]\nallow = []\n")),
    ] {
        let world = World::with_config(CONFIG);
        let ran = edit(&world, words);
        assert_eq!((ran.code, file(&world)), (0, expected), "{words:?}: {ran:?}");
        assert!(ran.stdout.starts_with("saved to [world]/config/haft/config.toml:\n@@ "), "{words:?}: {ran:?}");
        assert_eq!(world.run(&["config", "check"]).code, 0, "{words:?}");
        let again = edit(&world, words);
        assert_eq!((again.code, again.stdout.as_str()), (0, "nothing was changed: [world]/config/haft/config.toml has these settings already\n"), "{words:?}");
    }
}

#[test]
fn what_is_switched_off_and_on_again_leaves_nothing_behind() {
    let config = "[agents.coder.tools]\nprofile = 'coding'\nalso_allow = ['notify', 'http_request'] # more\n";
    let world = World::with_config(config);
    for (words, expected) in [
        (["coder", "--no-tool", "notify"], "also_allow = ['http_request'] # more\n"),
        (["coder", "--no-tool", "read_file"], "also_allow = ['http_request'] # more\ndeny = [\"read_file\"]\n"),
        (["coder", "--tool", "read"], "also_allow = ['http_request'] # more\ndeny = []\n"),
        (["coder", "--tool", "notify"], "also_allow = ['http_request', \"notify\"] # more\ndeny = []\n"),
    ] {
        let ran = edit(&world, &words);
        assert_eq!((ran.code, file(&world)), (0, format!("[agents.coder.tools]\nprofile = 'coding'\n{expected}")), "{words:?}: {ran:?}");
    }
    let world = World::with_config("[agents.coder.tools]\nallow = ['read_file', 'notify']\n");
    assert_eq!(edit(&world, &["coder", "--no-tool", "notify", "--tool", "noop"]).code, 0);
    assert_eq!(file(&world), "[agents.coder.tools]\nallow = ['read_file', \"noop\"]\n");
}

#[test]
fn what_cannot_be_is_said_and_nothing_is_written() {
    for (words, says) in [
        (&["coder"][..], "no flag names a change\nhelp: haft agents edit coder --model "),
        (&["coder", "--yes"], "there is nothing to change"),
        (&["coder", "--model", "nonsense"], "'nonsense' is not a model\nhelp: write it as provider/model"),
        (&["coder", "--model", "nobody/x"], "there is no provider 'nobody'"),
        (&["coder", "--tool", "read_fil"], "there is no tool 'read_fil'\nhelp: did you mean read_file"),
        (&["coder", "--only", "read_fil"], "there is no tool 'read_fil'"),
        (&["coder", "--only", "group:nothing"], "there is no group 'nothing'"),
        (&["coder", "--tool", "whatsapp_login"], "the tool 'whatsapp_login' is not in this build"),
        (
            &["coder", "--tool", "noop"],
            "'noop' cannot be switched on for the agent 'coder': it is removed by tools.deny, config.toml:5\nhelp: remove 'noop' from tools.deny",
        ),
        (&["coder", "--tool", "notify", "--no-tool", "notify"], "--tool and --no-tool both name 'notify'"),
        (&["coder", "--tool", "notify", "--only", "notify"], "cannot be used with"),
        (&["coder", "--profile", "codin"], "there is no profile 'codin'"),
        (&["coder", "--access", "root"], "unknown access level 'root'"),
        (&["coder", "--unset", "modl"], "invalid value 'modl'"),
        (&["coder", "--prompt", "a", "--prompt-file", "b"], "cannot be used with"),
        (&["coder", "--prompt-file", "missing.txt"], "the prompt cannot be read from 'missing.txt'"),
        (&["codr", "--no-tool", "notify"], "there is no agent 'codr'\nhelp: did you mean 'coder'? Or add --create"),
        (&["a b", "--create"], "an agent's name has 1 to 64"),
    ] {
        let world = World::with_config(CONFIG);
        let ran = edit(&world, words);
        assert_eq!((ran.code, ran.stdout.as_str(), file(&world).as_str()), (2, "", CONFIG), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{words:?}: {ran:?}");
        let ran = edit(&world, &[words, &["--json"]].concat());
        assert_eq!(ran.json()["status"], "error", "{words:?}");
    }
}

#[test]
fn denials_about_more_than_one_tool_are_left_to_the_user() {
    let config = "[agents.coder.tools]\ndeny = ['group:fs']\n";
    let world = World::with_config(config);
    let ran = edit(&world, &["coder", "--tool", "read_file"]);
    assert_eq!((ran.code, file(&world).as_str()), (2, config));
    assert!(ran.stderr.contains("deny group:fs, config.toml:2\nhelp: remove 'group:fs' from agents.coder.tools.deny"), "{ran:?}");
}

#[test]
fn a_dry_run_shows_the_change_and_writes_nothing() {
    let world = World::new();
    let words = ["coder", "--create", "--model", "demo", "--prompt-file", "prompt.txt", "--dry-run"];
    world.write("prompt.txt", "One.\nTwo.\n\n");
    let ran = edit(&world, &words);
    let diff = "@@ -0,0 +1,5 @@\n+[agents.coder]\n+model = \"demo\"\n+prompt = \"\"\"\n+One.\n+Two.\"\"\"\n";
    assert_eq!((ran.code, ran.stdout), (0, format!("this would be written to [world]/config/haft/config.toml:\n{diff}")));
    let data = edit(&world, &[&words[..], &["--json"]].concat()).json();
    let (tools, _) = tools(&world, "main");
    let expected = json!({
        "agent": "coder", "model": "demo", "access": "workspace-write", "tools": tools, "file": "[world]/config/haft/config.toml",
        "created": true, "changed": true, "written": false, "diff": diff,
    });
    assert_eq!(data, expected);
    assert!(!world.path("config/haft/config.toml").exists());
}

#[test]
fn what_would_be_odd_is_warned_of() {
    let world = World::with_config("access = 'read-only'\n");
    let ran = edit(&world, &["main", "--access", "workspace-write", "--only", ""]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("'agents.main.tools.allow' is empty"), "{ran:?}");
    assert!(ran.stderr.contains("the agent has read-only, not workspace-write"), "{ran:?}");
    let quiet = edit(&world, &["main", "--model", "demo"]);
    assert!(!quiet.stderr.contains("is empty"), "what was there before is not said again: {quiet:?}");
}

#[test]
fn the_file_that_is_named_is_changed_but_never_the_projects() {
    let world = World::with_config(CONFIG);
    world.write("own.toml", "# other\n");
    let ran = edit(&world, &["main", "--model", "demo", "--config", "own.toml"]);
    assert_eq!((ran.code, world.read("own.toml").as_str()), (0, "# other\n\n[agents.main]\nmodel = \"demo\"\n"), "{ran:?}");
    assert_eq!(file(&world), CONFIG);
    world.write(".haft/config.toml", "");
    let ran = edit(&world, &["main", "--model", "demo", "--config", ".haft/config.toml"]);
    assert!(ran.code == 2 && ran.stderr.contains("is in the project's folder"), "{ran:?}");
    assert_eq!(world.read(".haft/config.toml"), "");
    world.write(".haft/config.toml", "[agents.main.tools]\ndeny = ['notify']\n");
    let ran = edit(&world, &["main", "--tool", "notify"]);
    assert!(ran.code == 2 && ran.stderr.contains("remove 'notify' from agents.main.tools.deny of the project's file"), "{ran:?}");
}

#[test]
fn tools_are_ticked_in_a_list() {
    let world = World::with_config(CONFIG);
    let text = shown_to(&world, 80, QUIET, &["agents", "edit", "coder"], |screen, _| {
        screen.wait_for("[x] write_file - Write contents to a file on local storage");
        screen.wait_for("esc leaves");
        screen.types("\u{1b}[B ");
        screen.wait_for("> [ ] write_file");
        screen.types("http_r ");
        screen.wait_for("> [x] http_request");
        screen.types(&"\u{7f}".repeat(6));
        screen.types("noop");
        screen.wait_for("[ ] noop - Does nothing (test tool) (locked)");
        screen.types("\r");
    });
    let said = format!("the agent 'coder' has {} tools", share(&world, "coder"));
    assert!(text.contains("saved to ") && text.contains(&said), "{text}");
    assert_eq!(file(&world), coder("", "deny = [\"write_file\"]\nalso_allow = [\"http_request\"]\n"));
}

/// The same in a shell that says how it ended.
fn in_a_shell(command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "\"$@\"; echo code $?", "sh"]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).envs(QUIET.iter().copied());
    shell
}

#[test]
fn leaving_the_list_changes_nothing() {
    for (keys, code) in [("\u{1b}", 0), ("\u{3}", 130)] {
        let world = World::with_config(CONFIG);
        let (text, _) = seen(in_a_shell(&world.command(&["agents", "edit", "coder"])), 80, Program::Absent, |screen, _| {
            screen.wait_for("esc leaves");
            screen.types(" ");
            screen.wait_for("> [ ] read_file");
            screen.types(keys);
        });
        assert!(text.trim_end().ends_with(&format!("nothing was changed\ncode {code}")), "{text}");
        assert_eq!(file(&world), CONFIG);
    }
}

#[test]
fn what_is_locked_says_why_and_the_list_stays() {
    let world = World::with_config(CONFIG);
    let text = shown_to(&world, 100, QUIET, &["agents", "edit", "coder"], |screen, _| {
        screen.wait_for("esc leaves");
        screen.types("noop ");
        screen.wait_for("> [x] noop");
        screen.types("\r");
        screen.wait_for("'noop' cannot be switched on for the agent 'coder': it is removed by tools.deny");
        screen.types("\u{1b}");
    });
    assert!(text.trim_end().ends_with("nothing was changed"), "{text}");
    assert_eq!(file(&world), CONFIG);
}

#[test]
fn an_agent_that_is_not_there_is_made_after_a_yes() {
    for (answer, made) in [("y\r", true), ("n\r", false), ("\u{1b}", false)] {
        let world = World::with_config(CONFIG);
        shown_to(&world, 80, QUIET, &["agents", "edit", "reader"], |screen, _| {
            screen.wait_for("There is no agent 'reader' yet. Create it?");
            screen.types(answer);
            if made {
                screen.wait_for("esc leaves");
                screen.types("\r");
            }
        });
        let expected = if made { format!("{CONFIG}\n[agents.reader]\n") } else { CONFIG.to_owned() };
        assert_eq!(file(&world), expected, "{answer:?}");
    }
}

#[test]
fn where_nothing_may_move_it_goes_by_numbers() {
    for plain in [("HAFT_PLAIN", "1"), ("TERM", "dumb")] {
        let world = World::with_config(CONFIG);
        let text = shown_to(&world, 80, &[plain, ("NO_COLOR", "1")], &["agents", "edit", "coder"], |screen, _| {
            screen.wait_for("done to save, or leave: ");
            screen.types("+notify -2 +noop\n");
            screen.wait_for("'noop' cannot be switched on");
            screen.types("done\n");
        });
        assert!(!text.contains('\u{1b}') && text.contains("2. [ ] write_file - Write contents to a file"), "{text:?}");
        assert_eq!(file(&world), coder("", "deny = [\"write_file\"]\nalso_allow = [\"notify\"]\n"), "{text}");
        let text = shown_to(&world, 80, &[plain], &["agents", "edit", "writer"], |screen, _| {
            screen.wait_for("Create it? [y/n] ");
            screen.types("\u{4}");
        });
        assert!(text.contains("nothing was changed"), "{text}");
    }
}

#[test]
fn an_agent_of_the_file_answers_with_its_tools() {
    let world = World::new();
    assert_eq!(edit(&world, &["reader", "--create", "--model", "demo", "--only", "get_current_time"]).code, 0);
    let ran = world.run_with(&[("HAFT_LOCAL_MODELS", "")], &["run", "--agent", "reader", "read a.txt"]);
    assert!(ran.stdout.contains("`haft explain read_file` says why"), "{ran:?}");
}

/// Sessions of the demo model, which need no network.
fn said(world: &World, words: &[&str]) -> Ran {
    let ran = world.run_with(&[("HAFT_LOCAL_MODELS", "")], words);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

fn titles(ran: &Ran) -> Vec<Value> {
    ran.json().as_array().unwrap().iter().map(|session| session["title"].clone()).collect()
}

#[test]
fn sessions_are_found_by_what_was_said_in_them() {
    let world = World::new();
    world.write("axe.txt", "Sharpen the Größe\n");
    said(&world, &["run", "what time is it in Tokyo?"]);
    said(&world, &["run", "read axe.txt"]);
    for (wanted, found) in [
        ("TOKYO", &["what time is it in Tokyo?"][..]),
        ("größe", &["read axe.txt"]),
        ("axe.txt\"", &["read axe.txt"]),
        ("demo model", &["read axe.txt", "what time is it in Tokyo?"]),
        ("nobody said this", &[]),
    ] {
        assert_eq!(titles(&world.run(&["sessions", "list", "--json", "--search", wanted])), found, "{wanted}");
    }
    let one = world.run(&["sessions", "list", "--json", "--search", "demo model", "--limit", "1"]);
    assert_eq!(titles(&one), ["read axe.txt"]);
    let table = world.run(&["sessions", "list", "--search", "größe"]).stdout;
    assert!(table.contains("FOUND") && table.contains("Sharpen the Größe"), "{table}");
}

#[test]
fn resumed_session_keeps_its_agent_and_folder() {
    let world = World::with_config("[agents.reader]\nmodel = 'demo'\n");
    said(&world, &["run", "--agent", "reader", "what time is it?"]);
    fs::create_dir(world.file("elsewhere")).unwrap();
    let resumed = world
        .command(&["sessions", "resume", "last", "how much memory is there?"])
        .current_dir(world.file("elsewhere"))
        .env("HAFT_LOCAL_MODELS", "")
        .output()
        .unwrap();
    let ran = world.ran(&resumed);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("working in [world]/workspace, the folder of the session"), "{ran:?}");
    let exported = world.run(&["sessions", "export", "last"]).json();
    assert_eq!((&exported["session"]["agent"], exported["entries"].as_array().map(Vec::len)), (&json!("reader"), Some(10)));
    let calls = world.run(&["history", "--json"]).json();
    assert!(calls.as_array().unwrap().iter().all(|call| call["agent"] == "reader"), "{calls}");
    let talked = world.run_fed(b"what time is it in London?\n", &["sessions", "resume"]);
    assert_eq!(talked.code, 0, "{talked:?}");
    let entries = world.run(&["sessions", "export", "last"]).json()["entries"].as_array().map(Vec::len);
    assert_eq!(entries, Some(15), "without a prompt it is a conversation: {talked:?}");
    let missing = world.run(&["sessions", "resume", "ffffffff", "hi"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""), "{missing:?}");
}

#[test]
fn what_a_session_used_is_in_its_data() {
    let server = ModelServer::start(vec![Round::Text("Hello.".into())]).unwrap();
    let provider = format!("model = 'work/m1'\n[providers.work]\nprotocol = 'openai'\nbase_url = '{}'\n", server.url());
    for (prices, cost) in [("", false), ("[prices.'work/m1']\ninput = 1.0\noutput = 2.0\n", true)] {
        let world = World::with_config(&format!("{provider}{prices}"));
        said(&world, &["run", "hi"]);
        let list = world.run(&["sessions", "list", "--json"]).json();
        let shown = world.run(&["sessions", "show", "last", "--json"]).json();
        let usage = &list[0]["usage"];
        assert_eq!((usage, &usage["requests"]), (&shown["session"]["usage"], &json!(1)), "{list}");
        let (input, output) = (usage["input_tokens"].as_f64().unwrap(), usage["output_tokens"].as_f64().unwrap());
        assert!(input > 0.0 && output > 0.0, "{usage}");
        let micros = usage["cost"].as_f64().map(|cost| (cost * 1e6).round());
        assert_eq!((micros, &usage["unpriced_requests"]), (cost.then_some(input + 2.0 * output), &json!(u8::from(!cost))), "{usage}");
        let told = world.run(&["sessions", "show", "last"]).stdout;
        assert!(told.contains(&format!("{input} tokens in, {output} out")) && told.contains('$') == cost, "{told}");
    }
}
