//! Reading and changing files.

tools! {
    read_file => ReadFile,
    write_file => WriteFile,
}

pub(crate) use self::read_file::FORMS as READ_FILE_FORMS;
