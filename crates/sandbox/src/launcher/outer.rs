use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::step::{self, StepFailure, drop_descriptors, exec_failure, join_cgroups, settings};
use crate::overlay::{self, OverlayLayer};

/// Settings of the step that runs on the host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OuterStep {
    /// Files of the control groups to join.
    pub(crate) cgroup_files: Vec<PathBuf>,
    /// Overlays to mount, outermost first.
    pub(crate) layers: Vec<OverlayLayer>,
}

/// Joins the control groups, mounts the overlays and executes bubblewrap.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (settings, rest): (OuterStep, _) = settings(arguments)?;
    let (program, arguments) = step::command("outer", rest)?;
    join_cgroups(&settings.cgroup_files)?;
    overlay::mount(&settings.layers)?;
    drop_descriptors();
    let error = step::program(program, arguments, env::vars_os().collect()).exec();
    // The program is bubblewrap and not the command, so this is a failure of the sandbox.
    Err(exec_failure(program, &error).message.into())
}
