//! Commands of a model where no one can answer a question: they run on an overlay, and their changes are checked and applied at the end.

use std::fs;
use std::time::{Duration, Instant};

use haft_testkit::{ModelServer, Round};
use serde_json::{Value, json};

use super::effects::{Scene, call, run_session, user_git_text};
use super::harness::{HAFT, haft};

fn exec(command: &str) -> (&'static str, Value) {
    ("exec", json!({ "command": command }))
}

#[test]
fn unattended_commands_are_staged_checked_and_applied() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n");
    user_git_text(&scene, "", &["init", "-q"]);
    let line = "echo two >>a.txt; mkdir -p new/deep; echo x >new/deep/x; ln new/deep/x new/deep/y; name=.envrc; echo 'echo hello' >$name";
    let results = run_session(&scene, "", &[exec(line), exec("cat a.txt new/deep/x && git add -A && git commit -qm two && rm -r new")]);
    assert!(results[0].text().contains("Changed 5 of 6 paths.") && results[0].text().contains("Not changed: '.envrc'"), "{results:?}");
    assert!(results[1].text().contains("one\ntwo\nx"), "{results:?}");
    assert_eq!((scene.read("a.txt").as_str(), scene.file(".envrc").exists(), scene.file("new").exists()), ("one\ntwo\n", false, false));
    assert_eq!(user_git_text(&scene, "", &["log", "-1", "--format=%s"]).trim(), "two");
    // The same model with the user's own line, or on purpose in the background, changes the workspace while it runs.
    let direct = call(&scene, "exec", &json!({ "command": "echo three >>a.txt" }));
    assert_eq!(direct.value["details"]["changes"]["id"], Value::Null, "{direct:?}");
    assert!(scene.read("a.txt").contains("three"), "{direct:?}");
    let background = ("exec", json!({ "command": "echo now >now; sleep 60", "background": true }));
    let results = run_session(&scene, "", &[background, exec("for i in $(seq 100); do [ -s now ] && break; sleep 0.1; done; cat now")]);
    assert!(results[1].text().starts_with("now\n"), "{results:?}");
}

#[test]
fn command_that_goes_to_the_background_is_applied_when_it_ends_and_can_be_undone() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n");
    let slow = ("exec", json!({ "command": "echo two >>a.txt; sleep 1; echo late >late; echo ended", "yield_ms": 100 }));
    let poll = ("process", json!({ "action": "poll", "job": "job-1", "timeout_ms": 60000 }));
    let wait = "for i in $(seq 300); do [ -s late ] && break; sleep 0.1; done; cat late";
    let results = run_session(&scene, "", &[slow, poll.clone(), poll, exec(wait)]);
    assert!(results[0].text().contains("Its changes are staged"), "{results:?}");
    assert!(results[1..3].iter().any(|result| result.text().contains("its staged changes were applied, 2 paths")), "{results:?}");
    assert!(results[3].text().starts_with("late\n"), "{results:?}");
    assert_eq!((scene.read("a.txt").as_str(), scene.read("late").as_str()), ("one\ntwo\n", "late\n"));
    let history: Value = serde_json::from_slice(&scene.haft(&["history", "--json"]).output().unwrap().stdout).unwrap();
    let calls = history.as_array().unwrap();
    let first = calls.iter().rfind(|call| call["tool"] == "exec").unwrap()["id"].as_str().unwrap().to_owned();
    let undone = scene.haft(&["undo", &first]).output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!((scene.read("a.txt").as_str(), scene.file("late").exists()), ("one\n", false), "{undone:?}");
}

#[test]
fn job_that_is_killed_says_how_to_commit_its_changes() {
    let scene = Scene::new();
    let slow = ("exec", json!({ "command": "echo x >x; echo written; sleep 60", "yield_ms": 2000 }));
    let kill = ("process", json!({ "action": "kill", "job": "job-1" }));
    let poll = ("process", json!({ "action": "poll", "job": "job-1" }));
    let results = run_session(&scene, "", &[slow, kill, poll, ("exec", json!({ "commit": "last" }))]);
    assert!(results[2].text().contains("not applied, because it was killed: exec with commit=chg-"), "{results:?}");
    assert_eq!(scene.read("x"), "x\n", "{results:?}");
}

#[test]
fn what_a_killed_haft_had_staged_can_be_committed_afterwards() {
    let scene = Scene::new();
    let rounds = vec![Round::call("c1", "exec", exec("echo half >half; touch written; sleep 300").1)];
    let server = ModelServer::start(rounds).unwrap();
    let provider = format!("[providers.work]\nprotocol = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"WORK_KEY\"\n", server.url());
    scene.configure(&format!("model = \"work/m1\"\n{provider}"));
    let mut haft = scene.haft(&["run", "go"]).env("WORK_KEY", "k-1234567890").spawn().unwrap();
    let sets = scene.path("home/.local/share/haft/changes");
    let is_written = || fs::read_dir(&sets).into_iter().flatten().flatten().any(|set| set.path().join("0/upper/written").exists());
    let begun = Instant::now();
    while !is_written() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the command did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    haft.kill().unwrap();
    haft.wait().unwrap();
    assert!(!scene.file("half").exists());
    let committed = call(&scene, "exec", &json!({ "commit": "last" }));
    assert!(committed.text().contains("Committed 'chg-"), "{committed:?}");
    assert_eq!(scene.read("half"), "half\n");
    let again = call(&scene, "exec", &json!({ "commit": "last" }));
    assert!(again.text().contains("There is no change set"), "{again:?}");
}

#[test]
fn run_that_ends_names_the_command_that_ends_with_it_and_how_to_apply_its_changes() {
    let scene = Scene::new();
    let slow = json!({ "command": "echo x >x; sleep 60", "yield_ms": 2000 });
    let server = ModelServer::start(vec![Round::call("c1", "exec", slow), Round::Text("done".into())]).unwrap();
    let provider = format!("[providers.work]\nprotocol = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"WORK_KEY\"\n", server.url());
    scene.configure(&format!("model = \"work/m1\"\n{provider}"));
    let ran = scene.haft(&["run", "go"]).env("WORK_KEY", "k-1234567890").output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    let ended = "the command in the background 'job-1' was ended with the conversation: echo x >x; sleep 60. Its 1 staged change was not \
                 applied: `haft ";
    let advice = told.split_once(ended).and_then(|(_, rest)| rest.split_once('`')).unwrap_or_else(|| panic!("{told}")).0;
    assert!(ran.status.success() && !scene.file("x").exists(), "{told}");
    let committed = scene.haft(&advice.split(' ').collect::<Vec<_>>()).output().unwrap();
    assert!(committed.status.success(), "{committed:?}");
    assert_eq!(scene.read("x"), "x\n", "following the advice applies it");
}

#[test]
fn ordinary_user_is_staged_in_the_same_way() {
    let again = [
        "suite::unattended::unattended_commands",
        "suite::unattended::command_that_goes",
        "suite::unattended::what_a_killed",
        "suite::changes::folders_can_be_renamed",
    ];
    println!("{}", haft_testkit::again_as_an_ordinary_user(&again, &[(HAFT, &haft())]).unwrap_or_else(|said| panic!("{said}")));
}
