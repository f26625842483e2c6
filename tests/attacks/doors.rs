//! Every way in which a path reaches a file tool: each parameter of each of the seven, under each name that is understood, and
//! each line of a patch that names a file.

use haft::Dialect;
use serde_json::{Value, json};

/// What is done with a path that comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// It is read.
    Read,
    /// What is beneath it is read.
    Search,
    /// It is no place, but chooses among what a search of the workspace finds.
    Choose,
    /// It is written without being read.
    Write,
    /// It is read, then written or removed.
    Change,
}

/// One way in.
pub(crate) struct Door {
    pub(crate) name: String,
    pub(crate) tool: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) does: Does,
    /// Whether it is another name for a door that is there already.
    pub(crate) is_another_name: bool,
    arguments: Box<dyn Fn(&str) -> Value>,
}

impl Door {
    fn new(tool: &'static str, name: &str, does: Does, arguments: impl Fn(&str) -> Value + 'static) -> Self {
        let name = format!("{tool} {name}");
        Self { name, tool, dialect: Dialect::Haft, does, is_another_name: false, arguments: Box::new(arguments) }
    }
    fn spoken_in(mut self, dialect: Dialect) -> Self {
        self.name = format!("{} ({dialect})", self.name);
        self.dialect = dialect;
        self.again()
    }
    fn again(mut self) -> Self {
        self.is_another_name = true;
        self
    }
    pub(crate) fn arguments(&self, path: &str) -> Value {
        (self.arguments)(path)
    }
    pub(crate) fn reads(&self) -> bool {
        matches!(self.does, Does::Read | Does::Search | Does::Change)
    }
    pub(crate) fn writes(&self) -> bool {
        matches!(self.does, Does::Write | Does::Change)
    }
    /// How the names of the files end that it is for.
    pub(crate) fn end(&self) -> &'static str {
        if self.is_for_notebooks() { ".ipynb" } else { ".txt" }
    }
    pub(crate) fn is_for_notebooks(&self) -> bool {
        self.tool == "notebook_edit" || self.tool == "NotebookEdit"
    }
    /// Whether it takes patterns, in which some marks are no part of a name.
    pub(crate) fn takes_patterns(&self) -> bool {
        self.name.contains(" pattern")
    }
}

/// All of them.
pub(crate) fn doors() -> Vec<Door> {
    [reading(), writing(), editing(), patching(), finding(), searching(), notebooks()].into_iter().flatten().collect()
}

/// The parameter itself, then its other names.
fn by_names(names: &[&'static str], door: impl Fn(&'static str) -> Door) -> Vec<Door> {
    names.iter().enumerate().map(|(place, name)| if place == 0 { door(name) } else { door(name).again() }).collect()
}

const FILE: [&str; 4] = ["path", "file_path", "filename", "file"];

fn reading() -> Vec<Door> {
    let named = |tool, name| Door::new(tool, name, Does::Read, move |path| json!({(name): path}));
    let mut doors = by_names(&FILE, |name| named("read_file", name));
    doors.push(Door::new("read_file", "path, raw", Does::Read, |path| json!({"path": path, "raw": true})).again());
    doors.push(Door::new("read_file", "path, pages", Does::Read, |path| json!({"path": path, "pages": "1"})).again());
    doors.push(named("read_file", "path").spoken_in(Dialect::Claw));
    doors.push(named("read", "path").spoken_in(Dialect::OpenClaw));
    doors
}

fn writing() -> Vec<Door> {
    let named = |tool, name| Door::new(tool, name, Does::Write, move |path| json!({(name): path, "content": "new\n"}));
    let mut doors = by_names(&FILE, |name| named("write_file", name));
    doors.push(Door::new(
        "write_file",
        "path, appending",
        Does::Change,
        |path| json!({"path": path, "content": "new\n", "mode": "append"}),
    ));
    doors.push(named("file_write", "path").again());
    doors.push(named("write", "path").spoken_in(Dialect::OpenClaw));
    doors
}

fn editing() -> Vec<Door> {
    let named = |tool, name: &'static str| {
        let arguments = move |path: &str| json!({(name): path, "old_string": "old", "new_string": "new", "replace_all": true});
        Door::new(tool, name, Does::Change, arguments)
    };
    let mut doors = by_names(&["path", "file_path", "filename", "file", "filePath"], |name| named("edit_file", name));
    doors.push(Door::new(
        "edit_file",
        "path, making it",
        Does::Change,
        |path| json!({"path": path, "old_string": "", "new_string": "new"}),
    ));
    let several = |path: &str| json!({"path": path, "edits": [{"old_string": "old", "new_string": "new", "replace_all": true}]});
    doors.push(Door::new("edit_file", "path, edits", Does::Change, several).again());
    doors.push(named("edit", "path").spoken_in(Dialect::OpenClaw));
    doors
}

/// Every line of a patch that names a file; `{}` is the path.
const HEADERS: [(&str, &str); 12] = [
    ("Add File", "*** Begin Patch\n*** Add File: {}\n+new\n*** End Patch\n"),
    ("Delete File", "*** Begin Patch\n*** Delete File: {}\n*** End Patch\n"),
    ("Update File", "*** Begin Patch\n*** Update File: {}\n@@\n-old\n+new\n*** End Patch\n"),
    ("Update File, moved", "*** Begin Patch\n*** Update File: {}\n*** Move to: moved.txt\n@@\n-old\n+new\n*** End Patch\n"),
    ("Move to", "*** Begin Patch\n*** Update File: mine.txt\n*** Move to: {}\n@@\n-mine\n+new\n*** End Patch\n"),
    ("--- +++", "--- {}\n+++ {}\n@@ -1 +1 @@\n-old\n+new\n"),
    ("--- a/ +++ b/", "diff --git a/{} b/{}\n--- a/{}\n+++ b/{}\n@@ -1 +1 @@\n-old\n+new\n"),
    ("--- /dev/null +++ b/", "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+new\n"),
    ("--- a/ +++ /dev/null", "--- a/{}\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"),
    ("--- +++, moved", "--- a/mine.txt\n+++ b/{}\n@@ -1 +1 @@\n-mine\n+new\n"),
    ("rename from", "diff --git a/{} b/moved.txt\nsimilarity index 100%\nrename from {}\nrename to moved.txt\n"),
    ("rename to", "diff --git a/mine.txt b/{}\nsimilarity index 100%\nrename from mine.txt\nrename to {}\n"),
];

fn patching() -> Vec<Door> {
    let mut doors = Vec::new();
    for (name, patch) in HEADERS {
        doors.push(Door::new("apply_patch", name, Does::Change, move |path| json!({"input": patch.replace("{}", path)})));
        let tried = move |path: &str| json!({"input": patch.replace("{}", path), "dry_run": true});
        doors.push(Door::new("apply_patch", &format!("{name}, dry run"), Does::Read, tried).again());
    }
    for alias in ["patch", "diff"] {
        let arguments = move |path: &str| json!({(alias): HEADERS[0].1.replace("{}", path)});
        doors.push(Door::new("apply_patch", alias, Does::Change, arguments).again());
    }
    let spoken = |path: &str| json!({"input": HEADERS[2].1.replace("{}", path)});
    doors.push(Door::new("apply_patch", "Update File", Does::Change, spoken).spoken_in(Dialect::OpenClaw));
    doors
}

fn finding() -> Vec<Door> {
    let within = |tool, name: &'static str| {
        Door::new(tool, name, Does::Search, move |path| json!({"pattern": "**/*", (name): path, "hidden": true, "ignored": true}))
    };
    let beneath = |end: &'static str| move |path: &str| json!({"pattern": format!("{path}{end}"), "hidden": true, "ignored": true});
    let mut doors = by_names(&["path", "directory", "dir", "cwd", "base_path"], |name| within("glob_search", name));
    doors.push(within("glob", "path").spoken_in(Dialect::Claw));
    doors.push(Door::new("glob_search", "pattern /**", Does::Search, beneath("/**")));
    doors.push(Door::new("glob_search", "pattern /*", Does::Search, beneath("/*")).again());
    doors.push(Door::new("glob_search", "pattern", Does::Choose, beneath("")));
    doors.push(Door::new("glob_search", "glob_pattern", Does::Choose, |path| json!({"glob_pattern": path, "hidden": true})).again());
    doors.push(Door::new("glob_search", "exclude", Does::Choose, |path| json!({"pattern": "**/*", "exclude": [path], "hidden": true})));
    doors
}

fn searching() -> Vec<Door> {
    let all = |more: Value| {
        let mut arguments = json!({"pattern": ".", "output_mode": "content", "hidden": true, "ignored": true});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let within = move |tool, name: &'static str| Door::new(tool, name, Does::Read, move |path| all(json!({(name): path})));
    let mut doors = by_names(&["path", "directory", "dir", "file_path", "file"], |name| within("grep_search", name));
    doors.push(within("grep_search", "path").spoken_in(Dialect::Claw));
    doors.push(within("grep", "path").again());
    for mode in ["count", "files_with_matches"] {
        let arguments = move |path: &str| all(json!({"path": path, "output_mode": mode}));
        doors.push(Door::new("grep_search", &format!("path, {mode}"), Does::Read, arguments).again());
    }
    let chosen = |name| Door::new("grep_search", name, Does::Choose, move |path| all(json!({(name): [path]})));
    doors.extend(by_names(&["glob", "include", "globs"], chosen));
    doors
}

fn notebooks() -> Vec<Door> {
    let edit = |tool, name: &'static str, mode: &'static str| {
        let arguments = move |path: &str| json!({(name): path, "cell_id": "c", "new_source": "new", "edit_mode": mode});
        Door::new(tool, &format!("{name}, {mode}"), Does::Change, arguments)
    };
    let names = ["notebook_path", "path", "file_path", "filename", "file"];
    let mut doors = by_names(&names, |name| edit("notebook_edit", name, "replace"));
    doors.push(edit("notebook_edit", "notebook_path", "insert").again());
    doors.push(edit("notebook_edit", "notebook_path", "delete"));
    doors.push(edit("NotebookEdit", "notebook_path", "replace").spoken_in(Dialect::Claw));
    doors
}

const FILE_TOOLS: [&str; 7] = ["read_file", "write_file", "edit_file", "apply_patch", "glob_search", "grep_search", "notebook_edit"];

/// The parameters of these tools that say where something is.
const PATHS: [&str; 6] = ["path", "notebook_path", "input", "glob", "exclude", "pattern"];

/// A parameter that takes a path and is no door here would never be attacked.
#[test]
fn every_path_parameter_of_every_file_tool_is_a_door() {
    let doors = doors();
    for tool in haft::builtin::all().into_iter().filter(|tool| FILE_TOOLS.contains(&&*tool.definition().name)) {
        let definition = tool.definition();
        let names = definition.parameters["properties"].as_object().unwrap().keys().map(|name| (name.as_str(), name.as_str()));
        let aliases = definition.parameters.hints().aliases.iter().map(|(alias, name)| (alias.as_str(), name.as_str()));
        // What is searched for by grep_search is no path.
        let paths = names
            .chain(aliases)
            .filter(|(_, name)| PATHS.contains(name) && (definition.name.as_ref(), *name) != ("grep_search", "pattern"));
        for (spelled, _) in paths {
            let has = |door: &Door| door.tool == definition.name && door.arguments("x").get(spelled).is_some();
            assert!(doors.iter().any(has), "{}: {spelled}", definition.name);
        }
    }
}
