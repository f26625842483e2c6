//! Why a toolbox could not be made.

use haft_contract::ToolError;
use haft_engine::RegisterError;
use haft_store::StoreError;

/// Why a toolbox could not be opened, or a tool not be added. Each message names the method to change.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolboxError {
    /// The workspace cannot be used.
    Workspace(ToolError),
    /// The state folder cannot be used.
    Store(StoreError),
    /// The tool was not registered.
    Register(RegisterError),
    /// A setting of the builder cannot be used.
    Setting(String),
}

impl std::fmt::Display for ToolboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Workspace(error) => write!(f, "{error} Give `ToolboxBuilder::workspace` another folder."),
            Self::Store(error) => write!(f, "{error} (the folder is that of `ToolboxBuilder::state`)"),
            Self::Register(error @ RegisterError::Duplicate { .. }) => {
                write!(f, "{error}. `Toolbox::replace` puts the new one in its place.")
            }
            Self::Register(error) => error.fmt(f),
            Self::Setting(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ToolboxError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Workspace(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Register(error) => Some(error),
            Self::Setting(_) => None,
        }
    }
}

impl From<StoreError> for ToolboxError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<RegisterError> for ToolboxError {
    fn from(error: RegisterError) -> Self {
        Self::Register(error)
    }
}
