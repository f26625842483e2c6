//! Reading and changing files.

tools! {
    read_file => ReadFile,
    write_file => WriteFile,
}
