//! `haft tenants`, as the operator uses it.

use serde_json::json;

use crate::suite::gateway::Served;
use crate::suite::harness::World;

#[test]
fn tenants_are_added_changed_listed_and_removed() {
    let world = World::new();
    let run = |words: &[&str]| world.run(&[&["tenants"], words].concat());
    assert!(run(&["list"]).stderr.contains("there is no tenant"));
    assert_eq!(run(&["add", "acme", "--set", "access=read-only"]).code, 0);
    assert_eq!(run(&["add", "acme"]).code, 1, "a name is there once");
    for name in ["Acme", "a b", "../x", "", "-a", "a/b", &"a".repeat(33)] {
        assert_eq!(run(&["add", "--", name]).code, 2, "{name}");
    }
    let shown = run(&["show", "acme", "--json"]).json();
    assert_eq!((&shown["name"], &shown["settings"]), (&json!("acme"), &json!({ "access": "\"read-only\"" })));
    // Settings can only tighten, and have to be some.
    let widened = run(&["set", "acme", "access=full-access"]);
    assert_eq!(widened.code, 2, "{widened:?}");
    assert!(widened.stderr.contains("cannot widen"), "{widened:?}");
    let unknown = run(&["set", "acme", "acces=read-only"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert_eq!(run(&["set", "acme", "access="]).code, 0);
    assert_eq!(run(&["show", "acme", "--json"]).json()["settings"], json!({}));
    // A folder of one is not in that of another, nor in Haft's own.
    std::fs::create_dir_all(world.path("shared/inner")).unwrap();
    let folder = |name: &str| world.path(name).to_string_lossy().into_owned();
    assert_eq!(run(&["add", "one", "--folder", &folder("shared")]).code, 0);
    for wrong in [folder("shared"), folder("shared/inner"), folder("."), folder("home/state"), folder("nowhere")] {
        assert_eq!(run(&["add", "two", "--folder", &wrong]).code, 2, "{wrong}");
    }
    assert_eq!(run(&["remove", "acme"]).code, 2, "nothing goes without --yes");
    assert_eq!(run(&["remove", "acme", "--yes"]).code, 0);
    assert_eq!(run(&["remove", "one", "--yes"]).code, 0);
    assert!(world.path("shared/inner").is_dir(), "a folder that the operator named stays");
    assert_eq!(run(&["list", "--json"]).json(), json!([]));
}

#[test]
fn users_have_at_most_the_scopes_of_their_team_and_no_secret_is_stored() {
    let world = World::new();
    let run = |words: &[&str]| world.run(&[&["tenants"], words].concat());
    run(&["add", "acme"]);
    assert_eq!(run(&["invite", "acme", "ann", "--team", "support"]).code, 1, "there is no such team");
    assert_eq!(run(&["team", "acme", "support", "--scopes", "view,chat"]).code, 0);
    assert_eq!(run(&["invite", "acme", "ann", "--team", "support", "--scopes", "admin"]).code, 2);
    let invited = run(&["invite", "acme", "ann", "--team", "support", "--json"]).json();
    assert_eq!(invited["scopes"], json!(["view", "chat"]));
    assert_eq!(run(&["invite", "acme", "ann"]).code, 1, "a user is there once");
    assert_eq!(run(&["team", "acme", "support", "--scopes", "view"]).code, 1, "a user has more");
    let shown = run(&["show", "acme"]);
    assert!(shown.stdout.contains("ann of support: view, chat"), "{shown:?}");
    let stored = std::fs::read_to_string(world.state().join("tenants/acme/tenant.json")).unwrap();
    let secret = |name: &str| invited[name].as_str().unwrap().rsplit_once('.').unwrap().1.to_owned();
    assert!(!stored.contains(&secret("token")) && !stored.contains(&secret("link")), "{stored}");
    assert_eq!(run(&["dismiss", "acme", "bob"]).code, 1);
    assert_eq!(run(&["dismiss", "acme", "ann"]).code, 0);
    assert_eq!(run(&["team", "acme", "support"]).code, 0);
    assert_eq!(run(&["show", "acme", "--json"]).json()["teams"], json!({}));
}

#[test]
fn tenant_in_a_folder_that_others_may_see_makes_it_private_or_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let state = world.state();
    let with_mode = |mode: u32| {
        std::fs::create_dir_all(&state).unwrap();
        std::fs::set_permissions(&state, PermissionsExt::from_mode(mode)).unwrap();
    };
    with_mode(0o755);
    std::fs::write(state.join("notes.txt"), "").unwrap();
    let ran = world.run(&["tenants", "add", "acme"]);
    assert!(ran.code != 0 && ran.stderr.contains("it holds other things ('notes.txt')"), "{ran:?}");
    assert!(!state.join("tenants").exists());
    std::fs::remove_file(state.join("notes.txt")).unwrap();
    with_mode(0o755);
    assert_eq!(world.run(&["tenants", "add", "acme"]).code, 0);
    // Its server can be started.
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    Served::start(&world);
}
