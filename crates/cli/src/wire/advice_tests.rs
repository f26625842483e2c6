//! Advice on real configuration files, variables and flags: what is printed is done in the files, loaded again, decided again.

mod following;
mod generated;
mod planning;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{FlagValue, LoadRequest};
use haft_contract::Arguments;
use haft_engine::{Explanation, Registry};
use haft_policy::Verdict;
use serde_json::Value;
use toml::Table;

use self::following::edit;
use self::generated::{Dice, call, layers};
use super::{Wire, registry};
use crate::arguments::{CallerArgs, Common};

/// How often advice is followed.
const FOLLOWED: usize = 800;

/// A folder with a workspace, files outside it, a user's file and a project's file.
struct World {
    folder: PathBuf,
    registry: Arc<Registry>,
}

/// The layers of a configuration.
#[derive(Clone, Default)]
struct Layers {
    own: Table,
    project: Table,
    variables: BTreeMap<String, String>,
    flags: BTreeMap<&'static str, String>,
}

impl Layers {
    fn flags(&self) -> Vec<FlagValue<'_>> {
        let key = |name: &str| match name {
            "--preset" => "preset",
            "--access" => "access",
            _ => "tools.profile",
        };
        self.flags.iter().map(|(name, value)| FlagValue { key: key(name), value: value.clone(), name }).collect()
    }
}

/// One call, and who makes it.
struct Call {
    tool: &'static str,
    arguments: Value,
    agent: &'static str,
    who: CallerArgs,
}

impl World {
    fn new(folder: &Path) -> Self {
        let folder = folder.canonicalize().unwrap();
        for made in ["work/docs", "work/secret", "work/.haft", "work/.git", "out", "roots", "home/.config/haft", "data"] {
            fs::create_dir_all(folder.join(made)).unwrap();
        }
        for file in ["work/docs/a.txt", "work/secret/x", "work/.env", "work/.git/config", "out/b.txt", "roots/c.txt"] {
            fs::write(folder.join(file), "text\n").unwrap();
        }
        Self { folder, registry: registry().unwrap() }
    }

    fn add_files(&self, files: &[&str]) {
        for file in files {
            let path = self.folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text\n").unwrap();
        }
        std::os::unix::fs::symlink(self.folder.join("out/b.txt"), self.folder.join("work/out-link")).unwrap();
    }

    fn explain(&self, layers: &Layers, call: &Call) -> Result<Explanation, String> {
        let workspace = self.folder.join("work");
        fs::write(workspace.join(".haft/config.toml"), toml::to_string_pretty(&layers.project).unwrap()).unwrap();
        fs::write(self.folder.join("home/.config/haft/config.toml"), toml::to_string_pretty(&layers.own).unwrap()).unwrap();
        let home = self.folder.join("home");
        let environment = |name: &str| match name {
            "HOME" => Some(OsString::from(&home)),
            name => layers.variables.get(name).map(OsString::from),
        };
        let flags = layers.flags();
        let vocabulary = super::policy::vocabulary(&self.registry, &[]);
        let check = |list: haft_config::ListKind, entry: &str| super::settings::check_entry(list, entry, &vocabulary);
        let mut request = LoadRequest::new(&workspace, &environment);
        request.check = Some(&check);
        request.flags = &flags;
        let loaded = haft_config::load(&request);
        if let Some(problem) = loaded.errors().next() {
            return Err(format!("{}: {:?}", problem.message, layers.own.to_string()));
        }
        let common = Common { workspace: Some(workspace.clone()), agent: Some(call.agent.to_owned()), ..Common::default() };
        let mut wire =
            Wire::with_config(Arc::clone(&self.registry), &common, &workspace, &loaded).map_err(|error| error.message.clone())?;
        wire.settings.data_folder = self.folder.join("data");
        let explainer = wire.explainer().map_err(|error| error.message.clone())?;
        let session = explainer.session(Some(call.agent), &call.who).map_err(|error| error.message.clone())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = runtime.block_on(explainer.engine.explain(call.tool, Some(Arguments::Json(call.arguments.clone())), &session));
        answer.map_err(|error| error.message().to_owned())
    }
}

#[test]
fn advice_on_real_configurations_flips_the_verdict_as_promised() {
    let folder = tempfile::tempdir().unwrap();
    let (world, mut dice) = (World::new(folder.path()), Dice(14));
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut broken = Vec::new();
    while counted.get("followed").copied().unwrap_or(0) < FOLLOWED {
        let (before, call) = (layers(&mut dice, &world), call(&mut dice, &world));
        let Ok(explained) = world.explain(&before, &call) else {
            *counted.entry("not loaded").or_default() += 1;
            continue;
        };
        let advice = &explained.advice;
        let kind = match (explained.verdict, advice.edits.is_empty()) {
            (Verdict::Allow, _) => "allowed",
            (Verdict::Deny, true) => "by hand",
            (Verdict::Ask, true) => "asked each time",
            _ => "followed",
        };
        *counted.entry(kind).or_default() += 1;
        if kind != "followed" {
            continue;
        }
        let mut after = before.clone();
        advice.edits.iter().for_each(|one| edit(&mut after, one));
        let verdict = world.explain(&after, &call).map(|explained| explained.verdict);
        if verdict != Ok(advice.then) {
            let (tool, arguments, own) = (call.tool, &call.arguments, before.own.to_string());
            broken.push(format!(
                "{tool} {arguments} as {} {:?}: {advice}\n  gave {verdict:?}\n{own}\n{}\n{:?} {:?}",
                call.agent, call.who, before.project, before.variables, before.flags
            ));
        }
    }
    let others: usize = ["by hand", "asked each time"].iter().filter_map(|kind| counted.get(kind)).sum();
    assert!(broken.is_empty(), "{} of {counted:?}\n{}", broken.len(), broken.join("\n\n"));
    assert!(others * 3 <= FOLLOWED, "most can be changed by an edit: {counted:?}");
}
