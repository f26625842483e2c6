//! Walking through files in memory, as far as a plan allows it.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::io::Read;
use std::sync::{Arc, Mutex};

use haft_contract::{ErrorKind, Plan, PlanContext, TreeEntry, TreeOptions, TreeVisitor, Visit};
use haft_testkit::{FakeHost, context_for, expect_error};

/// Writes down every entry, and what it holds if that can be read.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl TreeVisitor for Seen {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        let mut content = String::new();
        let said = match entry.open().and_then(|mut file| file.read_to_string(&mut content)) {
            Ok(_) => content,
            Err(error) => error.kind().to_string(),
        };
        let slash = if entry.is_directory() { "/" } else { "" };
        let size = entry.facts().unwrap().0;
        self.0.lock().unwrap().push(format!("{}{slash} {size} {said}", entry.path().display()));
        Visit::On
    }
}

fn host() -> Arc<FakeHost> {
    let host = FakeHost::new();
    host.files.put("d/a", "one");
    host.files.put("d/.b", "");
    host.files.put("d/deep/er/c", "two");
    host.files.make_directory("d/empty");
    host.files.put("elsewhere", "three");
    host
}

async fn walked(plan: impl Fn(Plan, haft_contract::Location) -> Plan, options: TreeOptions) -> Result<Vec<String>, (ErrorKind, String)> {
    let host = host();
    let at = PlanContext::new(&*host).locate("d").unwrap();
    let cx = context_for(plan(Plan::nothing(), at), host);
    let seen = Arc::new(Seen::default());
    match cx.fs().walk("d", options, Arc::clone(&seen) as Arc<dyn TreeVisitor>).await {
        Ok(_) => Ok(std::mem::take(&mut *seen.0.lock().unwrap())),
        refused => Err(expect_error(refused)),
    }
}

#[tokio::test]
async fn a_tree_is_walked_with_and_without_directories() {
    let all = TreeOptions::default().with_hidden(true).with_directories(true);
    let directory = |path: &str| format!("{path}/ 0 {}", std::io::ErrorKind::IsADirectory);
    let expected =
        [".b 0 ".into(), "a 3 one".into(), directory("deep"), directory("deep/er"), "deep/er/c 3 two".into(), directory("empty")];
    assert_eq!(walked(Plan::read_tree, all.clone()).await.unwrap(), expected);
    assert_eq!(walked(Plan::read_tree, TreeOptions::default()).await.unwrap(), ["a 3 one", "deep/er/c 3 two"]);
    let near = [".b 0 ".into(), "a 3 one".into(), directory("deep"), directory("empty")];
    assert_eq!(walked(Plan::read_tree, all.to_depth(1)).await.unwrap(), near);
}

/// A plan that names a directory alone says nothing of what is in it.
#[tokio::test]
async fn of_a_directory_that_was_planned_alone_the_names_are_seen_and_no_more() {
    let all = TreeOptions::default().with_hidden(true).with_directories(true);
    let denied = std::io::ErrorKind::PermissionDenied;
    let names = [".b 0", "a 3", "deep/ 0", "empty/ 0"].map(|name| format!("{name} {denied}"));
    assert_eq!(walked(Plan::read, all.clone().to_depth(1)).await.unwrap(), names);
    let message = "The tool tried to walk through 'd', which its plan does not name. This is a fault of the tool; nothing was done.";
    for (plan, options) in
        [(Plan::read as fn(Plan, _) -> Plan, all.clone()), (Plan::read, all.clone().to_depth(2)), (Plan::write, all.to_depth(1))]
    {
        assert_eq!(walked(plan, options).await.unwrap_err(), (ErrorKind::PermissionDenied, message.to_owned()));
    }
}
