//! Running programs.

mod excerpt;
mod exit;
mod plain;
mod words;

tools! {
    exec => Exec,
    process => Process::new,
}
