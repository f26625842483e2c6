//! Staged changes of a command, applied or dropped path by path.

use serde_json::{Value, json};

use super::{PageClient, Served};
use crate::suite::harness::World;

const COMMAND: &str = "echo two >>a.txt; rm b.txt; mkdir -p docs; echo new >docs/new.txt; echo other >docs/other.txt";

/// A world in which a command has staged its changes, a page of its server, and the set.
fn staged(later_config: &str) -> (World, Served, PageClient, Value) {
    let world = World::new();
    world.write("a.txt", "one\n");
    world.write("b.txt", "b\n");
    let ran = world.run(&["call", "exec", "--dry-run", "--command", COMMAND]);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.configure(later_config);
    let served = Served::start(&world);
    let page = served.page();
    let sets = page.read("/api/changes");
    let id = sets["sets"][0]["id"].as_str().unwrap_or_else(|| panic!("{sets:#}")).to_owned();
    let set = page.read(&format!("/api/changes/{id}"));
    (world, served, page, set)
}

fn paths(set: &Value, keep: impl Fn(&str) -> bool) -> Vec<&str> {
    let files = set["files"].as_array().unwrap().iter();
    files.filter(|file| keep(file["name"].as_str().unwrap())).map(|file| file["path"].as_str().unwrap()).collect()
}

fn decide(page: &PageClient, set: &Value, keep: impl Fn(&str) -> bool) -> (u16, Value) {
    let (apply, drop) = (paths(set, &keep), paths(set, |name| !keep(name)));
    let answer = page.post(&format!("/api/changes/{}", set["id"].as_str().unwrap()), &json!({ "apply": apply, "drop": drop }));
    (answer.status, answer.json())
}

#[test]
fn paths_of_a_command_are_shown_with_their_diff_and_decided_on_one_by_one() {
    let (world, _served, page, set) = staged("");
    let seen: Vec<_> = set["files"].as_array().unwrap().iter().map(|file| (file["name"].as_str().unwrap(), &file["kind"])).collect();
    let [created, changed, deleted] = [json!("created"), json!("changed"), json!("deleted")];
    let wanted = [("a.txt", &changed), ("b.txt", &deleted), ("docs", &created), ("docs/new.txt", &created), ("docs/other.txt", &created)];
    assert_eq!(seen, wanted);
    assert_eq!(set["command"], COMMAND);
    let id = set["id"].as_str().unwrap().to_owned();
    let diff = page.read(&format!("/api/changes/{id}/diff?path={}", paths(&set, |name| name == "a.txt")[0]));
    assert!(diff["diff_html"].as_str().unwrap().contains("+two"), "{diff:#}");
    assert_eq!((world.read("a.txt"), world.file("docs").exists()), ("one\n".to_owned(), false), "looking changes nothing");
    // A file cannot be applied without its new folder, and every path is decided on.
    let (status, refused) = decide(&page, &set, |name| name == "docs/new.txt");
    assert_eq!((status, refused["message"].as_str().unwrap().contains("'docs'")), (400, true), "{refused:#}");
    let some = page.post(&format!("/api/changes/{id}"), &json!({ "apply": paths(&set, |name| name == "a.txt"), "drop": [] }));
    assert_eq!(some.status, 409, "{}", some.body);

    let (status, decided) = decide(&page, &set, |name| name != "b.txt" && name != "docs/other.txt");
    assert_eq!((status, &decided["call"]["state"], &decided["dropped"]), (200, &json!("success"), &json!(2)), "{decided:#}");
    assert_eq!((world.read("a.txt"), world.read("docs/new.txt")), ("one\ntwo\n".to_owned(), "new\n".to_owned()));
    assert!(world.file("b.txt").exists() && !world.file("docs/other.txt").exists());
    assert_eq!(page.read("/api/changes")["sets"], json!([]));
    assert_eq!(decide(&page, &set, |_| true).0, 404, "it is decided on once");
    // It is one call of the history, and can be undone.
    let record = decided["call"]["record"].as_str().unwrap();
    assert_eq!(page.post(&format!("/api/history/{record}/undo"), &json!({})).status, 200);
    assert_eq!((world.read("a.txt"), world.file("docs/new.txt").exists()), ("one\n".to_owned(), false));
}

#[test]
fn refused_commit_keeps_the_whole_set_and_all_of_it_can_be_dropped() {
    let (world, served, page, set) = staged("rules.deny = ['write(docs/**)']\n");
    let mut events = page.events("");
    let (status, decided) = decide(&page, &set, |name| name != "b.txt");
    assert_eq!((status, &decided["call"]["state"]), (200, &json!("denied")), "{decided:#}");
    events.until(|name, data| name == "changed" && data["what"] == "changes");
    assert_eq!(world.read("a.txt"), "one\n");
    let again = page.read(&format!("/api/changes/{}", set["id"].as_str().unwrap()));
    assert_eq!(again["files"], set["files"], "what was to be dropped is there again");
    // Only an admin decides.
    let minted = page.post("/api/tokens", &json!({ "scopes": ["view", "chat", "approve"] })).json();
    let other = served.stranger().bearer(minted["token"].as_str().unwrap());
    assert_eq!((other.get("/api/changes").status, decide(&other, &set, |_| false).0), (200, 403));
    let (status, dropped) = decide(&page, &set, |_| false);
    assert_eq!((status, &dropped["call"], &dropped["dropped"]), (200, &Value::Null, &json!(5)), "{dropped:#}");
    assert_eq!((page.read("/api/changes")["sets"].clone(), world.read("a.txt")), (json!([]), "one\n".to_owned()));
}
