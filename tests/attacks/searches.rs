//! A25: what may not be read is not found either, however a search is asked for.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{DENIED, VAULTED, World, notebook, put, text};

/// Links to everything outside, and secrets of every kind inside, among files that may be found.
fn mixed(base: &Path, ws: &Path) {
    for (name, target) in [("out", "vault"), ("evil", "ws-evil"), ("to-secret.txt", "vault/secret.txt"), ("all", "")] {
        symlink(base.join(target), ws.join(name)).unwrap();
    }
    symlink("/proc/self", ws.join("me")).unwrap();
    symlink("private/plan.txt", ws.join("innocent.txt")).unwrap();
    for name in
        [".env", ".ENV", "sub/.env.production", "id_rsa", "keys/server.pem", ".aws/credentials", "private/plan.txt", "a/private/b/c"]
    {
        put(&ws.join(name), format!("key = {DENIED}\n"));
    }
    put(&ws.join("private/plan.ipynb"), notebook(DENIED));
    put(&ws.join("found.txt"), "key = mine\n");
    put(&ws.join(".hidden/found.txt"), "key = mine\n");
    put(&ws.join(".gitignore"), "!.env\n!private\n");
}

const FOUND: [&str; 2] = [".hidden/found.txt", "found.txt"];

pub(crate) fn nothing_is_found_that_may_not_be_read() {
    let world = World::new(mixed);
    for (pattern, path) in [("**/*", json!(null)), ("**", json!(".")), ("**/*", json!("sub/.."))] {
        let found = text(&world.call("glob_search", everything(json!({"pattern": pattern, "path": path}))));
        let mut names: Vec<&str> = found.lines().collect();
        names.sort_unstable();
        assert_eq!(names, [".gitignore", ".hidden/found.txt", "found.txt", "mine.txt", "sub/mine.txt"], "{pattern}");
    }
    for pattern in ["**/.env", "**/.e*", "**/*.pem", "private/*", "**/private/**", "out/**", "**/secret*", "{private,out}/*", "!**/*.none"]
    {
        let found = world.call("glob_search", everything(json!({"pattern": pattern})));
        let told = crate::world::everything_of(&found);
        assert!(![".env", "server.pem", "plan", "secret.txt"].iter().any(|name| listed(&told, name)), "{pattern}: {told}");
    }
    contents(&world);
}

/// Whether a file is listed, as opposed to being named in what was asked for.
fn listed(told: &str, name: &str) -> bool {
    told.lines().any(|line| !line.contains("No file matches") && !line.contains("Access denied") && line.contains(name))
}

fn contents(world: &World) {
    for pattern in ["key|secret|old", DENIED, VAULTED, ".", "(?s).*", "^"] {
        for mode in ["content", "count", "files_with_matches"] {
            let arguments =
                everything(json!({"pattern": pattern, "output_mode": mode, "multiline": pattern.contains("(?s)"), "context": 3}));
            // The answer names the search pattern, which is no secret to the caller.
            let told = if [DENIED, VAULTED].contains(&pattern) {
                let result = world.call_unchecked(&world.session(haft::Dialect::Haft), "grep_search", arguments);
                let told = text(&result);
                assert!(told.starts_with("No "), "{told}");
                told
            } else {
                text(&world.call("grep_search", arguments))
            };
            for name in [".env", "id_rsa", "server.pem", "credentials", "private/", "out/", "innocent"] {
                let mut lines = told.lines().filter(|line| !line.contains(".gitignore"));
                assert!(!lines.any(|line| line.starts_with(name)), "{pattern} {mode}: {told}");
            }
        }
    }
    let keys = text(&world.call("grep_search", everything(json!({"pattern": "key", "output_mode": "files_with_matches"}))));
    let mut keys: Vec<&str> = keys.lines().collect();
    keys.sort_unstable();
    assert_eq!(keys, FOUND);
}

/// With hidden files and ignored ones.
fn everything(mut arguments: Value) -> Value {
    arguments["hidden"] = true.into();
    arguments["ignored"] = true.into();
    arguments.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    arguments
}
