//! Where other processes of the same person ask for the jobs of this one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::{Job, base64};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::AbortHandle;

use super::jobs::Book;
use super::letters::{Question, Reply, Sight, read, send};

/// How much output goes into one answer: more than is ever kept.
const MOST: usize = 1 << 20;
/// How a socket is called behind the number of its process.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// An open desk. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Desk {
    socket: PathBuf,
    serving: AbortHandle,
}

impl Desk {
    /// Opens it in a folder, which only this person may enter.
    pub(super) fn open(folder: &Path, jobs: Weak<Book>) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let socket = folder.join(format!("{}-jobs-{number}.sock", std::process::id()));
        // One that was left behind by an earlier process of this number.
        std::fs::remove_file(&socket).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        let listener = UnixListener::bind(&socket)?;
        let serving = tokio::spawn(serve(listener, jobs)).abort_handle();
        Ok(Self { socket, serving })
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.serving.abort();
        // What cannot be removed is a name at which nobody listens.
        std::fs::remove_file(&self.socket).ok();
    }
}

async fn serve(listener: UnixListener, jobs: Weak<Book>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, Weak::clone(&jobs)));
    }
}

async fn answer(mut stream: UnixStream, jobs: Weak<Book>) {
    let Ok(question) = read::<Question>(&mut stream).await else { return };
    let reply = tokio::select! {
        reply = answered(question, &jobs) => reply,
        () = hung_up(&stream) => return,
    };
    // The same: then nobody wants the answer.
    drop(send(&mut stream, &reply).await);
}

/// Resolves when whoever asked has gone, and need not be waited for.
async fn hung_up(stream: &UnixStream) {
    // There is one question to a connection: what else is said is not listened to.
    let mut ignored = [0; 256];
    // That there is something to read may have been said of the question.
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut ignored) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn answered(question: Question, jobs: &Weak<Book>) -> Reply {
    let (Question::Look { job: number, .. } | Question::Write { job: number, .. } | Question::Kill { job: number }) = question;
    let Some(job) = jobs.upgrade().and_then(|jobs| jobs.own(number)) else {
        return Reply::Failed("it is not listed any more".to_owned());
    };
    match question {
        Question::Look { seen, wait, .. } => {
            if wait {
                job.changed(seen).await;
            }
            Reply::Sight(sight(&*job, seen))
        }
        Question::Write { input, end, .. } => match base64::decode(&input) {
            Some(input) => job.write(&input, end).await.map_or_else(|error| Reply::Failed(error.message().to_owned()), |()| Reply::Done),
            None => Reply::Failed("the input cannot be read".to_owned()),
        },
        Question::Kill { .. } => {
            job.kill().await;
            Reply::Done
        }
    }
}

fn sight(job: &dyn Job, seen: u64) -> Sight {
    let status = job.status();
    let mut output = Vec::new();
    let mut position = seen;
    // The beginning and the end, if what lies between is not kept.
    while position < status.bytes {
        let (from, bytes) = job.output(position, MOST);
        if bytes.is_empty() {
            break;
        }
        position = from + bytes.len() as u64;
        output.push((from, base64::encode(&bytes)));
    }
    let spill = status.end.as_ref().and_then(|end| end.spill.as_ref()).map(|spill| (spill.path.clone(), spill.bytes));
    Sight { bytes: status.bytes, end: status.end, spill, has_terminal: job.has_terminal(), output }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, ready};

    use tokio::io::AsyncWriteExt;

    use super::*;

    async fn is_pending(future: impl Future) -> bool {
        tokio::select! {
            biased;
            _ = future => false,
            () = ready(()) => true,
        }
    }

    /// A question that just fills what is read at once: nothing says that there is no more.
    fn filling() -> Vec<u8> {
        let mut letter = br#"{"Kill":{"job":1}}"#.to_vec();
        letter.resize(8 * 1024 - 1, b' ');
        letter.push(b'\n');
        letter
    }

    #[tokio::test]
    async fn only_who_has_gone_has_hung_up() {
        let (mut asks, mut answers) = UnixStream::pair().unwrap();
        asks.write_all(&filling()).await.unwrap();
        read::<Question>(&mut answers).await.unwrap();
        assert!(!is_pending(answers.readable()).await, "the question is still said to be there");
        assert!(is_pending(hung_up(&answers)).await);
        asks.write_all(b"more").await.unwrap();
        answers.readable().await.unwrap();
        assert!(is_pending(hung_up(&answers)).await);
        drop(asks);
        hung_up(&answers).await;
    }
}
