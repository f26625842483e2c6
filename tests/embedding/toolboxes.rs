//! What a toolbox has, and what its builder refuses.

use std::time::Duration;

use haft::{ToolSettings, Toolbox};
use serde_json::json;

fn names(toolbox: &Toolbox) -> Vec<String> {
    toolbox.definitions().into_iter().map(|definition| definition.name.into_owned()).collect()
}

#[tokio::test]
async fn toolbox_has_the_tools_that_can_work_here_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let (work, state) = (folder.path().join("work"), folder.path().join("state"));
    std::fs::create_dir(&work).unwrap();
    let toolbox = Toolbox::open(&work, &state).unwrap();
    assert_eq!(
        names(&toolbox),
        [
            "read_file",
            "write_file",
            "edit_file",
            "apply_patch",
            "glob_search",
            "grep_search",
            "notebook_edit",
            "http_request",
            "web_fetch",
            "web_search",
            "notify",
            "sleep",
            "get_current_time",
            "system_info",
            "noop"
        ]
    );
    assert!(names(&Toolbox::builder().build().unwrap()).is_empty());
}

#[test]
fn errors_name_the_method_of_the_builder() {
    let folder = tempfile::tempdir().unwrap();
    let error = |builder: haft::ToolboxBuilder| builder.build().unwrap_err().to_string();
    let workspace = folder.path().join("work");
    std::fs::create_dir(&workspace).unwrap();
    let builder = || Toolbox::builder().workspace(&workspace);
    let commands = error(builder().state(folder.path().join("state")).commands(true));
    assert!(commands.contains("make `haft::start();` the first line of `main`"), "{commands}");
    assert!(error(builder().commands(true)).contains("call `ToolboxBuilder::state`"));
    assert!(error(builder().allow_hosts(["a b"])).contains("`ToolboxBuilder::allow_hosts`"));
    assert!(error(Toolbox::builder().workspace("/no/such/folder")).contains("`ToolboxBuilder::workspace`"));
}

#[tokio::test]
async fn network_rules_and_settings_of_tools_are_those_of_the_builder() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ToolSettings::new().timeout(Duration::from_millis(40));
    let toolbox = Toolbox::builder()
        .workspace(folder.path())
        .access(haft::Access::FullAccess)
        .deny_hosts(["denied.example"])
        .tool_settings("sleep", settings)
        .build()
        .unwrap();
    let refused = toolbox.call("http_request", json!({"url": "http://denied.example/"})).await.to_json();
    assert!(refused.contains("denied.example"), "{refused}");
    let late = toolbox.call("sleep", json!({"duration": 5})).await;
    assert_eq!(late.outcome.unwrap_err().kind(), haft::ErrorKind::Timeout);
}
