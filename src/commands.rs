//! Commands of a program that embeds Haft: its own program is the launcher of their sandboxes.

use std::sync::atomic::{AtomicBool, Ordering};

static STARTED: AtomicBool = AtomicBool::new(false);

/// Call this first in `main`, before any runtime or thread: a sandbox starts this program again, and this call then becomes the
/// sandbox and does not return. After it, toolboxes run commands.
///
/// ```no_run
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     haft::start();
///     tokio::runtime::Runtime::new()?.block_on(async {
///         let toolbox = haft::Toolbox::open("work", "state")?;
///         println!("{}", toolbox.call("exec", r#"{"command": "ls"}"#).await.to_json());
///         Ok(())
///     })
/// }
/// ```
pub fn start() {
    haft_sandbox::launcher::main_if_asked();
    haft_builtin::helpers::main_if_asked();
    STARTED.store(true, Ordering::Release);
}

/// Whether [`start`] was called.
pub(crate) fn is_started() -> bool {
    STARTED.load(Ordering::Acquire)
}
