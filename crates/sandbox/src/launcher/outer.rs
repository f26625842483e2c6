use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use rustix::thread::LinkNameSpaceType;
use serde::{Deserialize, Serialize};

use super::namespaces;
use super::step::{self, StepFailure, drop_descriptors, exec_failure, join_cgroups, settings};
use crate::overlay::{self, OverlayLayer};
use crate::session_network::{NamespaceFile, NetworkNamespace};

/// Settings of the step that runs on the host.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OuterStep {
    /// Files of the control groups to join.
    pub(crate) cgroup_files: Vec<PathBuf>,
    /// Overlays to mount, outermost first.
    pub(crate) layers: Vec<OverlayLayer>,
    /// The network namespace to join.
    pub(crate) network: Option<NetworkNamespace>,
}

/// Joins the control groups and the network, mounts the overlays and makes the sandbox, or executes bubblewrap.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let (settings, rest): (OuterStep, _) = settings(arguments)?;
    let (program, arguments) = step::command("outer", rest)?;
    join_cgroups(&settings.cgroup_files)?;
    settings.network.as_ref().map_or(Ok(()), join_network)?;
    overlay::mount(&settings.layers)?;
    // This program: there is no need to execute it again.
    if let Some((_, options)) = arguments.split_first().filter(|(first, _)| *first == step::NAMESPACES) {
        return namespaces::run(options);
    }
    drop_descriptors();
    let error = step::program(program, arguments, env::vars_os().collect()).exec();
    // The program is bubblewrap and not the command, so this is a failure of the sandbox.
    Err(exec_failure(program, &error).message.into())
}

/// Joins the namespaces of a session network, if they are still the ones that were named.
fn join_network(namespace: &NetworkNamespace) -> Result<(), StepFailure> {
    let NetworkNamespace { user, network } = namespace;
    let user = user.as_ref().map(open_namespace).transpose()?;
    let network = open_namespace(network)?;
    let join = |file: &File, kind| rustix::thread::move_into_link_name_space(file.as_fd(), Some(kind));
    let joined = user.map_or(Ok(()), |user| join(&user, LinkNameSpaceType::User));
    let joined = joined.and_then(|()| join(&network, LinkNameSpaceType::Network));
    joined.map_err(|error| format!("cannot join the network of the session: {error}").into())
}

fn open_namespace(named: &NamespaceFile) -> Result<File, StepFailure> {
    let gone = |why: String| StepFailure::from(format!("the network of the session has ended: {why}"));
    let file = File::open(&named.path).map_err(|error| gone(error.to_string()))?;
    let inode = file.metadata().map_err(|error| gone(error.to_string()))?.ino();
    if inode == named.inode { Ok(file) } else { Err(gone(format!("{} is another one", named.path.display()))) }
}
