//! Any spelling of a path, through any links, and any action with what it leads to: nothing outside the workspace is touched,
//! nothing secret is read, nothing protected is written, and what was changed can be put back.
//!
//! The input is pieces between bytes of 255: the first has a byte that says what to do and then the path, each other a byte
//! that says where a link is and then where it leads. `@` stands for the folder that all of it is in.
#![no_main]

mod actions;
mod journal;
mod world;

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use haft_contract::{Location, ToolError, Zone, ports::FileSystem};
use haft_host::LocalFiles;
use libfuzzer_sys::fuzz_target;

use crate::world::{WORLD, World};

fuzz_target!(|data: &[u8]| {
    let mut pieces = data.split(|byte| *byte == u8::MAX);
    let Some((action, spelling)) = pieces.next().and_then(<[u8]>::split_first) else { return };
    let world = &*WORLD;
    let path = world.spelled(spelling);
    let links: Vec<PathBuf> = pieces.enumerate().filter_map(|(number, piece)| world.link(number, piece)).collect();
    let real = world.ws.join(&path).canonicalize().ok();
    let [by_kernel, by_walk] = [&world.by_kernel, &world.by_walk].map(|files| located(files, &path, real.as_deref(), world));
    assert_eq!(by_kernel.as_ref().map(seen).map_err(told), by_walk.as_ref().map(seen).map_err(told));
    for (files, at) in [(&world.by_kernel, by_kernel), (&world.by_walk, by_walk)] {
        if let Ok(at) = at {
            actions::attempt(*action, files, &at, world);
        }
    }
    for link in links {
        std::fs::remove_file(&link).expect("a link stays a link");
    }
    assert_eq!(world.tree(), world.before);
});

/// What a path means, and that it means what the kernel says.
fn located(files: &LocalFiles, path: &Path, real: Option<&Path>, world: &World) -> Result<Location, ToolError> {
    let at = files.locate(path)?;
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    assert!(at.path().is_absolute() && at.path().components().all(plain), "{at:?}");
    assert!(real.is_none_or(|real| real == at.path()), "{at:?} is {real:?}");
    let zone = match at.path() {
        path if path.starts_with(&world.ws) => Zone::Workspace,
        path if path.starts_with(&world.readable) => Zone::ReadOnlyRoot,
        _ => Zone::Outside,
    };
    assert_eq!(at.zone(), zone, "{at:?}");
    Ok(at)
}

fn seen(at: &Location) -> (&Path, Zone, Option<&str>, Option<&str>) {
    (at.path(), at.zone(), at.no_read(), at.no_write())
}

fn told(error: &ToolError) -> (haft_contract::ErrorKind, &str) {
    assert!(!error.message().is_empty());
    (error.kind(), error.message())
}

/// Whether a name on the way to a place is one of these, in any case.
fn passes(path: &Path, world: &World, names: &[&str]) -> bool {
    let beneath = path.strip_prefix(&world.base).unwrap_or(path);
    beneath.iter().any(|part| names.iter().any(|name| part.as_bytes().eq_ignore_ascii_case(name.as_bytes())))
}
