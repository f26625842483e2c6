use haft_contract::Exec;
use haft_host::WorkspaceOptions;
use haft_sandbox::Launcher;

use super::*;

/// Secrets beyond the bound of the search would be visible.
#[test]
fn command_does_not_run_where_secrets_were_not_looked_for_unless_that_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
    let mut exec = Exec::new("/bin/sh", Vec::new(), &root);
    exec.host = ExecHost::Sandbox;
    let planned = ShellCommand::new(exec, "true", Vec::new());
    let refused = |required| {
        let options =
            ShellOptions { required, sandbox: SandboxBackend::Bubblewrap, ..ShellOptions::new(Launcher::at("/nowhere/launcher"), &root) };
        let paths = SandboxPaths { uncovered: vec!["'/w' is too large".to_owned()], ..SandboxPaths::default() };
        let setup = RunSetup {
            session: "s",
            paths,
            network: NetworkAccess::Off,
            shared_network: None,
            terminal: false,
            overlay: None,
            layers: Vec::new(),
            fixed: Vec::new(),
            removals: None,
            report: None,
        };
        let refused = Sandboxer::new(options, Arc::clone(&files)).wrap(&planned, setup).map(|_| ()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::SandboxUnavailable);
        refused.message().to_owned()
    };
    let advice = "Work in a smaller folder, or set sandbox.mode = \"preferred\" to accept that.";
    assert_eq!(refused(true), format!("The command was not run: '/w' is too large. {advice}"));
    assert!(refused(false).contains("/nowhere/launcher"), "the next step is reached");
}
