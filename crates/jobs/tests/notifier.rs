//! Notices, with a fake desktop.
#![allow(clippy::unwrap_used)] // helpers of a test stop at the first surprise, as the test itself does

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use haft_contract::{
    Notice,
    ports::{Host, Notifier},
};
use haft_host::{Desktop, LocalFiles, LocalHost, LocalNotifier, WorkspaceOptions};
use haft_jobs::LocalProcesses;
use tempfile::TempDir;

fn processes() -> Arc<LocalProcesses> {
    Arc::default()
}

fn notice() -> Notice {
    Notice { message: "disk `full`; $(id)\n<b>".into(), urgency: "high".into(), recipient: "owner".into() }
}

/// A desktop whose notify-send is this script.
fn desktop(folder: &TempDir, script: &str) -> Desktop {
    // Written by another process: a program cannot be run while a fork of this one still holds it open for writing.
    let install = "printf '%s' \"$2\" > \"$1/notify-send\" && chmod 755 \"$1/notify-send\"";
    assert!(Command::new("/bin/sh").args(["-c", install, "sh"]).arg(folder.path()).arg(script).status().unwrap().success());
    let session = vec![("DISPLAY".into(), ":7".into())];
    Desktop { search_path: vec!["relative".into(), "/nonexistent".into(), folder.path().into()], session }
}

fn logged(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once(' ').unwrap();
    Some(rest.to_owned())
}

const LINE: &str = "[high] owner: disk `full`; $(id)\\n<b>\n";

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn notice_reaches_the_desktop_as_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let (log, seen) = (folder.path().join("alerts.log"), folder.path().join("seen"));
    let script = format!("#!/bin/sh\nprintf '%s|' \"$DISPLAY\" \"$@\" > {}\n", seen.display());
    let notifier = LocalNotifier::with_desktop(log.clone(), desktop(&folder, &script), processes());
    assert_eq!(notifier.notify(notice()).await.unwrap(), "Shown on the desktop with notify-send.");
    let expected = ":7|--app-name=haft|--urgency=critical|--|Haft: for owner|disk `full`; $(id)\\n&lt;b&gt;|";
    assert_eq!(std::fs::read_to_string(seen).unwrap(), expected);
    assert_eq!(logged(&log), None);
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn notifier_skips_a_program_that_tools_can_write() {
    let [outside, workspace] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [planted, linked] = ["bin", "links"].map(|name| workspace.path().join(name));
    let elsewhere = outside.path().join("to-workspace");
    for folder in [&planted, &linked, &elsewhere] {
        std::fs::create_dir(folder).unwrap();
    }
    let script = "#!/bin/sh\ntouch \"$0.ran\"\n";
    let mut desktop = desktop(&outside, script);
    std::fs::copy(outside.path().join("notify-send"), planted.join("notify-send")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("notify-send"), linked.join("notify-send")).unwrap();
    std::os::unix::fs::symlink(planted.join("notify-send"), elsewhere.join("notify-send")).unwrap();
    let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(workspace.path())).unwrap());
    desktop.search_path = vec![planted.clone(), linked.clone(), elsewhere.clone(), outside.path().into()];
    let notifier = LocalNotifier::with_desktop(outside.path().join("alerts.log"), desktop.clone(), processes()).avoiding(files.clone());
    assert_eq!(notifier.notify(notice()).await.unwrap(), "Shown on the desktop with notify-send.");
    let ran = [&planted, &linked, &elsewhere, outside.path()].map(|folder: &Path| folder.join("notify-send.ran").exists());
    assert_eq!(ran, [false, false, false, true]);
    desktop.search_path.pop();
    let log = outside.path().join("alerts.log");
    let notifier = LocalNotifier::with_desktop(log.clone(), desktop, processes()).avoiding(files);
    assert_eq!(notifier.notify(notice()).await.unwrap(), format!("Written to the alert log {}.", log.display()));
}

/// The desktop is found through the search path of the process, so a second process has one that leads into the workspace.
#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn notifier_of_a_host_runs_no_program_of_the_workspace() {
    const WORKSPACE: &str = "HAFT_TEST_WORKSPACE";
    if let Some(workspace) = std::env::var_os(WORKSPACE) {
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(workspace)).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let alert_log = folder.path().join("alerts.log");
        let host = LocalHost::new(files, Arc::default(), processes(), alert_log.clone());
        let expected = format!("Written to the alert log {}.", alert_log.display());
        assert_eq!(host.notifier().notify(notice()).await.unwrap(), expected);
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    desktop(&workspace, "#!/bin/sh\nexit 0\n");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "notifier_of_a_host_runs_no_program_of_the_workspace"]);
    let output = again.env("PATH", workspace.path()).env("DISPLAY", ":7").env(WORKSPACE, workspace.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn notifier_skips_a_file_that_is_not_executable() {
    let [first, second] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    std::fs::write(first.path().join("notify-send"), "no x bit").unwrap();
    let mut desktop = desktop(&second, "#!/bin/sh\nexit 0\n");
    desktop.search_path.insert(0, first.path().into());
    let notifier = LocalNotifier::with_desktop(first.path().join("alerts.log"), desktop, processes());
    assert_eq!(notifier.notify(notice()).await.unwrap(), "Shown on the desktop with notify-send.");
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn notice_goes_to_the_log_when_the_desktop_fails() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("alerts.log");
    for (script, why) in [
        ("#!/bin/sh\necho 'no bus' >&2; exit 1\n", "notify-send failed: no bus".to_owned()),
        (
            "not a program",
            format!(
                "Cannot run '{}': it is neither a program for this machine nor a script that names its interpreter (#!/bin/sh)",
                folder.path().join("notify-send").display()
            ),
        ),
    ] {
        let notifier = LocalNotifier::with_desktop(log.clone(), desktop(&folder, script), processes());
        let expected = format!("Written to the alert log {}, because the desktop did not take it: {why}.", log.display());
        assert_eq!(notifier.notify(notice()).await.unwrap(), expected);
        assert_eq!(logged(&log).as_deref(), Some(LINE));
        std::fs::remove_file(&log).unwrap();
    }
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn notice_goes_to_the_log_without_a_desktop() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("alerts.log");
    let sessionless = Desktop { session: Vec::new(), ..desktop(&folder, "#!/bin/sh\nexit 0\n") };
    let without_program = Desktop { search_path: Vec::new(), session: vec![("DISPLAY".into(), ":7".into())] };
    for desktop in [sessionless, without_program, Desktop::default()] {
        let notifier = LocalNotifier::with_desktop(log.clone(), desktop, processes());
        assert_eq!(notifier.notify(notice()).await.unwrap(), format!("Written to the alert log {}.", log.display()));
        assert_eq!(logged(&log).as_deref(), Some(LINE));
        std::fs::remove_file(&log).unwrap();
    }
}

#[tokio::test]
async fn notice_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let notifier = LocalNotifier::with_desktop(folder.path().into(), Desktop::default(), processes());
    let error = notifier.notify(notice()).await.unwrap_err();
    let start = format!("The notice could not be delivered: there is no desktop, and the alert log {} cannot", folder.path().display());
    assert!(error.message().starts_with(&start), "{error}");
}
