//! Plugins: added, called, trusted with a project, and removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::harness::{Ran, World};
use super::terminal::shown_to;

/// The folder of an example.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name)
}

/// Writes a plugin whose command is a shell script; returns its folder.
pub(super) fn write_plugin(world: &World, name: &str, tool: &str, more: &str, script: &str) -> PathBuf {
    let folder = world.path("plugins").join(name);
    write_plugin_in(&folder, name, tool, more, script);
    folder
}

fn write_plugin_in(folder: &Path, name: &str, tool: &str, more: &str, script: &str) {
    fs::create_dir_all(folder).unwrap();
    let text = format!(
        "name = '{name}'\nversion = '1.0'\ndescription = 'A plugin.'\ncommand = ['./run']\n[[tools]]\nname = '{tool}'\n\
         description = 'Does something.'\n{more}"
    );
    fs::write(folder.join("plugin.toml"), text).unwrap();
    fs::write(folder.join("run"), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(folder.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
}

pub(super) fn add(world: &World, folder: &Path) -> Ran {
    world.run(&["plugins", "add", folder.to_str().unwrap(), "--yes"])
}

#[test]
fn python_example_counts_words_and_its_optional_tool_waits_for_the_user() {
    let world = World::new();
    world.write("notes.txt", "one two\nthree two\n");
    let none = world.run(&["plugins", "list"]);
    assert_eq!((none.code, none.stderr.trim()), (0, "there are no plugins: `haft plugins add FOLDER` adds one"));
    let added = add(&world, &example("python-wordcount"));
    insta::assert_snapshot!("plugins_add", added.all());
    insta::assert_snapshot!("plugins_list", world.run(&["plugins", "list"]).all());
    let (code, called) = world.call("word_count", &json!({"path": "notes.txt"}));
    let counts = json!({"words": 4, "lines": 2, "characters": 18});
    assert_eq!((code, &called["details"]["result"], &called["details"]["plugin"]), (0, &counts, &json!("wordcount")), "{called}");
    let reading = world.run(&["call", "word_count", "--path", "notes.txt", "--access", "read-only"]);
    assert_eq!((reading.code, reading.stdout.contains("\"words\": 4")), (0, true), "{reading:?}");
    let missing = world.run(&["call", "word_count", "--path", "absent.txt"]);
    assert!(missing.code == 1 && missing.stderr.contains("absent.txt cannot be used: [Errno 2]"), "{missing:?}");
    let invalid = world.call("word_count", &json!({}));
    assert_eq!((invalid.0, &invalid.1["error_type"]), (1, &json!("validation_error")), "{invalid:?}");

    let write = json!({"path": "notes.txt", "target": "words.csv"});
    let off = world.call("word_frequencies", &write);
    assert_eq!((off.0, &off.1["error_type"]), (1, &json!("tool_not_available")), "{off:?}");
    let explained = world.run(&["explain", "word_frequencies"]);
    assert!(explained.stdout.contains("optional, and not in tools.also_allow"), "{explained:?}");
    for entry in ["word_frequencies", "wordcount", "group:plugins", "group:wordcount"] {
        world.configure(&format!("tools.also_allow = ['{entry}']\n"));
        fs::remove_file(world.file("words.csv")).ok();
        let (code, on) = world.call("word_frequencies", &write);
        assert_eq!((code, &on["result"]), (0, &json!("Wrote 3 words to words.csv.")), "{entry}: {on}");
        assert_eq!(world.read("words.csv").lines().nth(1), Some("two,2"));
    }
    let refused = world.run(&["call", "word_frequencies", &write.to_string(), "--access", "read-only", "--json"]);
    assert_eq!((refused.code, &refused.json()["error_type"]), (1, &json!("permission_denied")), "{refused:?}");
    let undone = world.run(&["undo", "last"]);
    assert!(undone.code == 0 && !world.file("words.csv").exists(), "{undone:?}");
    let removed = world.run(&["plugins", "remove", "wordcount"]);
    assert_eq!((removed.code, removed.stdout.as_str()), (0, "removed: wordcount\n"));
    world.configure("");
    assert_eq!(world.call("word_count", &json!({"path": "notes.txt"})).1["error_type"], "tool_not_found");
    let again = world.run(&["plugins", "remove", "wordcount"]);
    assert!(again.code == 1 && again.stderr.contains("you have added no plugin 'wordcount'"), "{again:?}");
}

#[test]
fn rust_example_is_built_and_called() {
    let world = World::new();
    let folder = world.path("plugins/line-lengths");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(example("rust-line-lengths").join("plugin.toml"), folder.join("plugin.toml")).unwrap();
    let unbuilt = add(&world, &folder);
    assert!(unbuilt.code == 1 && unbuilt.stderr.contains("'command' names 'line-lengths', which is not in the folder"), "{unbuilt:?}");
    let source = example("rust-line-lengths").join("src/main.rs");
    let built =
        Command::new("rustc").args(["--edition", "2024", "-O", "-o"]).arg(folder.join("line-lengths")).arg(source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_eq!(add(&world, &folder).code, 0);
    world.write("a \"b\".txt", "short\na longer line\n\nmid-size\n");
    let (code, called) = world.call("longest_lines", &json!({"path": "a \"b\".txt"}));
    let listed = "line 2: 13 characters\nline 4: 8 characters\nline 1: 5 characters\nline 3: 0 characters";
    assert_eq!((code, &called["result"]), (0, &json!(listed)), "{called}");
}

#[test]
fn command_gets_the_call_and_its_context_and_nothing_of_the_environment() {
    let world = World::new();
    let script = "env > seen.env; cat > seen.json; pwd > seen.pwd; printf '{\"progress\": \"half\"}\\n' >&2; printf '{\"result\": \"ok\"}'";
    assert_eq!(add(&world, &write_plugin(&world, "echo", "echo_call", "", script)).code, 0);
    let ran = world.run_with(&[("OPENAI_API_KEY", "sk-secret-1"), ("MY_SETTING", "x")], &["call", "echo_call", "{}"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "ok"), "{ran:?}");
    let input: serde_json::Value = serde_json::from_str(&world.read("seen.json")).unwrap();
    let workspace = world.path("workspace").canonicalize().unwrap();
    let context = &input["context"];
    assert_eq!((&input["tool"], &input["arguments"]), (&json!("echo_call"), &json!({})));
    assert_eq!((&context["workspace"], &context["agent"]), (&json!(workspace.to_string_lossy()), &json!("main")));
    assert_eq!((&context["sandboxed"], &context["access"]), (&json!(true), &json!("workspace-write")));
    assert!(context["session"].is_string() && context["call"].is_string(), "{context}");
    assert_eq!(world.read("seen.pwd").trim(), workspace.to_string_lossy());
    let environment = world.read("seen.env");
    assert!(!environment.contains("sk-secret-1") && !environment.contains("MY_SETTING"), "{environment}");
}

#[test]
fn texts_reach_a_plugin_as_they_were_given() {
    let world = World::new();
    let parameters = "parameters = {type = \"object\", properties = {text = {type = \"string\"}}, required = [\"text\"]}\n";
    let script = "cat > seen.json; printf '{\"result\": \"ok\"}'";
    assert_eq!(add(&world, &write_plugin(&world, "echo", "echo_call", parameters, script)).code, 0);
    for given in ["  two lines\n\n", "", " "] {
        assert_eq!(world.call("echo_call", &json!({"text": given})).0, 0, "{given:?}");
        let input: serde_json::Value = serde_json::from_str(&world.read("seen.json")).unwrap();
        assert_eq!(input["arguments"]["text"], given);
    }
}

#[test]
fn plugin_is_added_after_a_question() {
    let world = World::new();
    let folder = write_plugin(&world, "p", "do_it", "optional = true\n", "printf '{\"result\": 1}'");
    let words = ["plugins", "add", folder.to_str().unwrap()];
    let nobody = world.run(&words);
    assert!(nobody.code == 2 && nobody.stderr.contains("nobody can be asked here"), "{nobody:?}");
    assert_eq!(world.run(&["plugins", "list", "--json"]).json(), json!([]));
    let no = shown_to(&world, 100, &[("NO_COLOR", "1")], &words, |screen, _| {
        screen.wait_for("Add it?");
        screen.types("n");
    });
    assert!(no.contains("Tool do_it") && no.contains("not added"), "{no}");
    assert_eq!(world.run(&["plugins", "list", "--json"]).json(), json!([]));
    let yes = shown_to(&world, 100, &[("NO_COLOR", "1")], &words, |screen, _| {
        screen.wait_for("Add it?");
        screen.types("y");
    });
    assert!(yes.contains("added: p 1.0"), "{yes}");
    assert_eq!(world.run(&["plugins", "list", "--json"]).json()[0]["runs"], true);
    fs::write(folder.join("run"), "#!/bin/sh\nprintf '{\"result\": 2}'\n").unwrap();
    let update = world.run(&["plugins", "check", folder.to_str().unwrap()]);
    assert!(update.stdout.contains("It replaces version 1.0") && update.stdout.contains("run (changed)"), "{update:?}");
}

#[test]
fn project_plugins_run_after_trust_and_not_after_a_change() {
    let world = World::new();
    let folder = world.file(".haft/plugins/ours");
    write_plugin_in(&folder, "ours", "our_tool", "", "printf '{\"result\": \"ours\"}'");
    let call = || world.call("our_tool", &json!({}));
    assert_eq!(call().1["error_type"], "tool_not_found");
    assert!(world.run(&["plugins", "list"]).stdout.contains("not trusted"));
    insta::assert_snapshot!("plugins_trust_show", world.run(&["trust", "--show"]).all());
    let trusted = world.run(&["trust", "--json"]).json();
    assert_eq!((&trusted["trusted"], &trusted["plugins"][0]["name"]), (&json!(true), &json!("ours")), "{trusted}");
    assert_eq!(call().1["result"], "ours");
    let elsewhere = World::new();
    assert_eq!(elsewhere.call("our_tool", &json!({})).1["error_type"], "tool_not_found");
    let from_elsewhere =
        ["--workspace", &*world.path("workspace").to_string_lossy().into_owned(), "plugins", "list", "--json"].map(str::to_owned);
    assert_eq!(world.run(&from_elsewhere).json()[0]["runs"], true);
    world.write(".haft/plugins/ours/run", "#!/bin/sh\nprintf '{\"result\": \"changed\"}'\n");
    world.configure("tools.also_allow = ['our_tool']\n");
    let (code, withheld) = call();
    let message = withheld["message"].as_str().unwrap();
    assert!(code == 1 && message.contains("has changed since you looked at it") && message.contains("haft trust"), "{withheld}");
    assert_eq!(world.run(&["trust", "--show", "--json"]).json()["trusted"], false);
    assert_eq!(world.run(&["trust"]).code, 0);
    assert_eq!(call().1["result"], "changed");
    assert_eq!(world.run(&["trust", "--revoke", "--json"]).json()["changed"], true);
    world.configure("");
    assert_eq!(call().1["error_type"], "tool_not_found");
}

#[test]
fn policy_hooks_and_history_hold_for_plugin_tools() {
    let world = World::new();
    assert_eq!(add(&world, &write_plugin(&world, "p", "do_it", "", "echo x > made; printf '{\"result\": \"did\"}'")).code, 0);
    for (config, kind) in [
        ("rules.deny = ['do_it']\n", "tool_not_available"),
        ("tools.deny = ['group:p']\n", "tool_not_available"),
        ("tools.disabled = ['do_it']\n", "tool_globally_disabled"),
        ("rules.deny = ['exec(*)']\n", "permission_denied"),
        ("[[hooks]]\nevent = 'before_tool_call'\nmatch = ['do_it']\ncommand = 'echo no >&2; exit 2'\n", "blocked"),
    ] {
        world.configure(config);
        let (_, answer) = world.call("do_it", &json!({}));
        assert_eq!((&answer["error_type"], world.file("made").exists()), (&json!(kind), false), "{config}: {answer}");
    }
    world.configure("rules.deny = ['write(made)']\n");
    let (_, staged) = world.call("do_it", &json!({}));
    assert!(staged["result"].as_str().unwrap().contains("Not changed: 'made'") && !world.file("made").exists(), "{staged}");
    world.configure("");
    assert_eq!(world.call("do_it", &json!({})).1["result"], "did");
    assert!(world.file("made").exists());
    let history = world.run(&["history", "--tool", "do_it", "--json"]).json();
    assert!(history.as_array().unwrap().len() >= 7, "{history}");
}

/// A plugin costs what its command costs: the ratio is printed.
#[test]
fn plugin_call_takes_about_as_long_as_exec_of_its_command() {
    let world = World::new();
    assert_eq!(
        add(&world, &write_plugin(&world, "p", "do_it", "effects = 'read-only'\n", "cat > /dev/null; printf '{\"result\": 1}'")).code,
        0
    );
    let fastest = |words: &[&str]| {
        let once = || {
            let began = Instant::now();
            let ran = world.run(words);
            assert_eq!(ran.code, 0, "{ran:?}");
            began.elapsed()
        };
        (0..5).map(|_| once()).min().unwrap_or(Duration::MAX)
    };
    let plugin = fastest(&["call", "do_it", "{}"]);
    let exec = fastest(&["call", "exec", "{\"command\": \"sh -c 'cat > /dev/null; printf 1'\"}"]);
    let ratio = plugin.as_secs_f64() / exec.as_secs_f64();
    eprintln!("plugin {plugin:?}, exec {exec:?}, ratio {ratio:.2}");
    assert!(ratio < 3.0, "a call of a plugin takes {plugin:?}, exec of the same command {exec:?}");
}
