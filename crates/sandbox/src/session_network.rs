use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A network namespace to join, and the user namespace that owns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkNamespace {
    pub(crate) user: Option<NamespaceFile>,
    pub(crate) network: NamespaceFile,
}

/// The file of a namespace, and its identity: the PID in the path may be reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamespaceFile {
    pub(crate) path: PathBuf,
    pub(crate) inode: u64,
}
