//! Files that a sub-agent gets with its task: beside its spills, which it may read and not change, and which are removed with them.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use haft_contract::{AgentAttachment, StoredAttachment, ToolError};

/// Stores files in a private folder, each as a new file. Their names were checked.
pub(super) fn store(folder: &Path, files: Vec<AgentAttachment>) -> Result<Vec<StoredAttachment>, ToolError> {
    files.into_iter().map(|file| write(folder, file)).collect()
}

fn write(folder: &Path, AgentAttachment { name, mime_type, content }: AgentAttachment) -> Result<StoredAttachment, ToolError> {
    let path = folder.join(&name);
    let failed = |error: std::io::Error| {
        ToolError::execution(format!("The attachment '{name}' cannot be stored: {error}. Leave it out, or write it to the workspace."))
            .with_source(error)
    };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    file.write_all(&content).map_err(failed)?;
    let sha256 = haft_host::sha256(content.as_slice(), || Ok(())).map_err(failed)?;
    Ok(StoredAttachment { bytes: content.len(), name, mime_type, path, sha256 })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn attachment_is_a_new_private_file_with_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let file = || vec![AgentAttachment { name: "data.csv".into(), mime_type: Some("text/csv".into()), content: b"a,b\n".to_vec() }];
        let stored = store(folder.path(), file()).unwrap();
        assert_eq!((stored[0].bytes, stored[0].path.clone()), (4, folder.path().join("data.csv")));
        assert_eq!(stored[0].sha256, "5be08c9684a1d25efcee09318204824278b08bbfb4aef973ffefd0b9d7478313");
        assert_eq!(std::fs::metadata(&stored[0].path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = store(folder.path(), file()).unwrap_err();
        assert!(error.message().starts_with("The attachment 'data.csv' cannot be stored: "), "{}", error.message());
    }
}
