//! Running programs.

mod excerpt;
mod exit;
mod limits;
mod plain;
mod running;
mod words;

tools! {
    exec => Exec::new,
    powershell => Powershell,
    process => Process::new,
    repl => Repl::new,
}
