//! One thread that starts programs and lives as long as this process.
//!
//! A sandboxed program dies with the thread that started it, and the threads of a runtime come and go.

use std::io;
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

static SPAWNER: OnceLock<Mutex<mpsc::Sender<Work>>> = OnceLock::new();

/// Does something on that thread, within the caller's runtime.
pub(super) async fn on_lasting_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let runtime = tokio::runtime::Handle::current();
    let (done, answer) = oneshot::channel();
    let work = Box::new(move || {
        let _entered = runtime.enter();
        // Whoever asked may have gone.
        drop(done.send(work()));
    });
    let gone = || io::Error::other("the thread that starts programs has ended");
    sender()?.lock().unwrap_or_else(PoisonError::into_inner).send(work).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())
}

fn sender() -> io::Result<&'static Mutex<mpsc::Sender<Work>>> {
    if let Some(sender) = SPAWNER.get() {
        return Ok(sender);
    }
    let (sender, work) = mpsc::channel::<Work>();
    thread::Builder::new().name("haft-spawn".into()).spawn(move || {
        for work in work {
            // A panic of one must not take away the thread of all others.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
        }
    })?;
    Ok(SPAWNER.get_or_init(|| Mutex::new(sender)))
}
