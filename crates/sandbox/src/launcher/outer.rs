use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::stage::{self, Failure, drop_descriptors, join, not_run, settings};
use crate::overlay::{self, Layer};

/// What the stage on the host has to do.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outer {
    /// The control groups to join.
    pub(crate) doors: Vec<PathBuf>,
    /// The overlays to lay, the outermost first.
    pub(crate) layers: Vec<Layer>,
}

/// Joins the control groups, lays the overlays and becomes bubblewrap, which is what the rest of the arguments names.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, Failure> {
    let (settings, rest): (Outer, _) = settings(arguments)?;
    let (program, arguments) = rest.split_first().ok_or_else(|| "the outer stage was given nothing to run".to_owned())?;
    join(&settings.doors)?;
    overlay::mount(&settings.layers)?;
    drop_descriptors();
    let error = stage::program(program, arguments, env::vars_os().collect()).exec();
    // The program here is bubblewrap and not the command, so this is a failure of the sandbox.
    Err(not_run(program, &error).message.into())
}
