//! A28 and A29: what a session leaves on the disk, and what it stays with.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::{Erased, ErrorKind, ToolSource};
use serde_json::json;

use crate::doors::{Does, Door, doors};
use crate::snapshot;
use crate::world::{World, failure, notebook, plain, put, text};

/// A result that is too large for a model is in a file that only its owner can read, under a name that nobody can guess; tools
/// can read it, and neither change it nor reach anything else that way.
pub(crate) fn spills_are_private_and_unknown() {
    let world = World::new(plain);
    world.engine.registry().register(Arc::new(Erased::new(Flood)), ToolSource::BuiltIn).unwrap();
    let folder = spilled(&world);
    let first = only_file(&folder);
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.len() >= 20, "{name} can be guessed");
    for path in [&folder, &first] {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is open to others: {mode:o}", path.display());
    }
    // One that somebody has put there is not what a later spill is written through.
    for trap in ["1.txt", "call_1.txt", "spill.txt"] {
        symlink(world.base.join("vault/canary.txt"), folder.join(trap)).unwrap();
    }
    spilled(&world);
    assert!(text(&world.call("read_file", json!({"path": first, "limit": 1}))).starts_with("line "));
    let before = std::fs::read(&first).unwrap();
    for door in doors().iter().filter(|door| door.writes() && !door.is_for_notebooks()) {
        for path in [first.clone(), folder.join("new.txt"), folder.join("../new.txt"), folder.join("spill.txt")] {
            let result = world.call_in(&world.session(door.dialect), door.tool, door.arguments(path.to_str().unwrap()));
            assert_eq!(failure(&result).0, ErrorKind::PathNotAllowed, "{} {}", door.name, path.display());
        }
    }
    assert_eq!(std::fs::read(&first).unwrap(), before);
    for path in ["spill.txt", "../blobs", "../../vault/secret.txt"] {
        let (kind, _) = failure(&world.call("read_file", json!({"path": folder.join(path)})));
        assert_eq!(kind, ErrorKind::PathNotAllowed, "{path}");
    }
}

/// Says more than a model can hear.
#[haft::tool]
async fn flood() -> Result<String, haft::ToolError> {
    Ok((0..20_000).map(|line: u32| ["line ", &line.to_string(), " of very many\n"].concat()).collect())
}

/// Makes a result that is too large, and gives the folder that it is in.
fn spilled(world: &World) -> PathBuf {
    assert!(text(&world.call("flood", json!({}))).contains("read_file"), "the result says where the rest is");
    world.base.join("state/spills")
}

fn only_file(folder: &Path) -> PathBuf {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// The workspace was opened by a link, and the link is made to lead to the vault: every door still leads into the folder that
/// was opened, and the link itself leads outside.
pub(crate) fn the_root_is_re_pointed() {
    let mut world = World::opened_by(same_names, |base| {
        symlink(base.join("ws"), base.join("entry")).unwrap();
        base.join("entry")
    });
    std::fs::remove_file(world.base.join("entry")).unwrap();
    symlink(world.base.join("vault"), world.base.join("entry")).unwrap();
    world.look_again();
    assert_eq!(text(&world.call("read_file", json!({"path": "secret.txt"}))), "old\ninside\n");
    for door in doors() {
        for path in ["secret", "./sub/../secret"] {
            stays_inside(&world, &door, &format!("{path}{}", door.end()));
        }
        let entry = world.base.join(format!("entry/secret{}", door.end()));
        let result = world.call_in(&world.session(door.dialect), door.tool, door.arguments(entry.to_str().unwrap()));
        if door.does != Does::Choose {
            assert_eq!(failure(&result).0, ErrorKind::PathNotAllowed, "{}", door.name);
        }
    }
    world.check_records();
}

/// The names of the vault, with other content.
fn same_names(_base: &Path, ws: &Path) {
    put(&ws.join("secret.txt"), "old\ninside\n");
    put(&ws.join("secret.ipynb"), notebook("old\n"));
}

fn stays_inside(world: &World, door: &Door, path: &str) {
    let before = snapshot::marks(&world.ws);
    let result = world.call_in(&world.session(door.dialect), door.tool, door.arguments(path));
    let kind = result.outcome.as_ref().err().map(haft::ToolError::kind);
    assert_ne!(kind, Some(ErrorKind::PathNotAllowed), "{}", door.name);
    if before != snapshot::marks(&world.ws) {
        world.reset();
    }
}
