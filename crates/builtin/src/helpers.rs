//! Helper processes: work that a tool must not do in its own process, because hostile data can end it.

/// Call this first in `main` of the program that runs helpers: if this process was started as a helper, it does that work and
/// does not return.
pub fn main_if_asked() {
    #[cfg(feature = "pdf")]
    if std::env::args_os().nth(1).is_some_and(|name| name == crate::files::read_file::pdf::protocol::HELPER) {
        let code = i32::from(read_pdf().is_err());
        #[expect(clippy::exit, reason = "a helper is a whole program")]
        std::process::exit(code)
    }
}

/// Documents nest a few dozen levels; endless nesting overflows any stack.
#[cfg(feature = "pdf")]
const STACK: usize = 64 * 1024 * 1024;

#[cfg(feature = "pdf")]
fn read_pdf() -> std::io::Result<()> {
    use crate::files::read_file::pdf::{helper, library};
    let work = || helper::answer(library::open, std::io::stdin(), std::io::stdout());
    let reading = std::thread::Builder::new().stack_size(STACK).spawn(work)?;
    reading.join().unwrap_or_else(|_| Err(std::io::Error::other("the helper panicked")))
}
