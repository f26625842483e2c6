//! Reading and changing files.

tools! {
    read_file => ReadFile,
    write_file => WriteFile,
    edit_file => EditFile,
    apply_patch => ApplyPatch,
    glob_search => GlobSearch,
    grep_search => GrepSearch,
    notebook_edit => NotebookEdit,
}

pub(crate) use self::read_file::FORMS as READ_FILE_FORMS;
#[cfg(feature = "pdf")]
pub(crate) use self::read_file::pdf;
