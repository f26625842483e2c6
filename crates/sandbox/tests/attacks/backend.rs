//! The sandbox backends under attack.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;

use haft_contract::CommandLimits;
use haft_sandbox::{Bubblewrap, Container, ContainerImage, ContainerOptions, ProcessSpec, Sandbox, SandboxPolicy};

use crate::support::{RunOutput, TestWorkspace, bubblewrap, launcher, run};

pub(crate) struct Backend {
    pub(crate) sandbox: Arc<dyn Sandbox>,
    shell: &'static str,
    /// Folder of a root file system.
    _root: Option<tempfile::TempDir>,
}

impl Backend {
    pub(crate) fn bubblewrap() -> Self {
        Self { sandbox: Arc::new(bubblewrap()), shell: "/bin/bash", _root: None }
    }

    /// The same by the program `bwrap`.
    pub(crate) fn bubblewrap_program() -> Self {
        let sandbox = Bubblewrap::with_program("/usr/bin/bwrap", launcher()).expect("bubblewrap is installed");
        Self { sandbox: Arc::new(sandbox), shell: "/bin/bash", _root: None }
    }

    /// Podman, on a root folder with busybox and the libraries of the launcher. No image is pulled.
    pub(crate) fn container() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let image = Some(ContainerImage::RootFolder(root_folder(folder.path())));
        let sandbox = Container::detect(&ContainerOptions { image, ..ContainerOptions::default() }, launcher()).unwrap();
        Self { sandbox, shell: "/bin/sh", _root: Some(folder) }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.sandbox.name()
    }

    pub(crate) fn shell(&self, ws: &TestWorkspace, script: &str) -> ProcessSpec {
        ProcessSpec { program: PathBuf::from(self.shell), ..ws.shell(script) }
    }

    pub(crate) fn policy(ws: &TestWorkspace) -> SandboxPolicy {
        SandboxPolicy { limits: CommandLimits { processes: Some(128), tmp_size: Some(1 << 20), ..CommandLimits::STANDARD }, ..ws.policy() }
    }

    pub(crate) fn run(&self, ws: &TestWorkspace, script: &str) -> RunOutput {
        run(&*self.sandbox, self.shell(ws, script), &Self::policy(ws))
    }
}

fn root_folder(parent: &Path) -> PathBuf {
    let root = parent.join("root");
    for folder in ["bin", "proc", "sys", "dev", "etc", "run", "tmp", "var/tmp"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).expect("busybox-static is installed");
    let applets = Process::new("/bin/busybox").arg("--list").output().unwrap();
    for applet in String::from_utf8(applets.stdout).unwrap().lines().filter(|applet| *applet != "busybox") {
        symlink("busybox", root.join("bin").join(applet)).unwrap();
    }
    let libraries = Process::new("ldd").arg(launcher().path()).output().unwrap();
    for library in String::from_utf8(libraries.stdout).unwrap().split_whitespace().filter(|word| word.starts_with('/')) {
        let inside = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::copy(library, inside).unwrap();
    }
    root
}
