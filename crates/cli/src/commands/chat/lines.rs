//! Lines from a pipe, or from a terminal that wants words alone: nothing is drawn, nothing is completed.

use std::io::{self, BufRead, IsTerminal};
use std::time::Instant;

use tokio::sync::mpsc;

use super::editor::{AGAIN, Read};
use crate::failure::{Exit, Failure};
use crate::signals::Signals;
use crate::terminal::Screen;

/// A line that is longer is not one.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// How many lines wait to be looked at.
const WAITING: usize = 4;
const PROMPT: &str = "you: ";
const GOES_ON: &str = "     ";

/// A line and when it was read, or why there is none.
type Arrived = Result<(Instant, String), String>;

/// Lines, read on a thread of their own: it may wait for ever, and must not keep the process.
#[derive(Debug)]
pub(super) struct Lines {
    arriving: mpsc::Receiver<Arrived>,
    /// Whether somebody sits there, who can be shown a prompt and types while a turn goes on.
    pub(super) attended: bool,
}

impl Lines {
    pub(super) fn open() -> Self {
        Self::of(|| io::stdin().lock(), io::stdin().is_terminal() && io::stderr().is_terminal())
    }

    fn of<R: BufRead>(open: impl FnOnce() -> R + Send + 'static, attended: bool) -> Self {
        let (sender, arriving) = mpsc::channel(WAITING);
        let forward = move || {
            let mut from = open();
            while let Some(arrived) = line(&mut from).transpose() {
                let fails = arrived.is_err();
                if sender.blocking_send(arrived.map(|line| (Instant::now(), line))).is_err() || fails {
                    return;
                }
            }
        };
        // Without the thread the channel is closed, which counts as the end of input.
        std::thread::Builder::new().name("haft-lines".into()).spawn(forward).ok();
        Self { arriving, attended }
    }

    /// The next line, with those that it goes on in.
    pub(super) async fn read(&mut self, signals: &mut Signals) -> Result<Read, Failure> {
        let (mut text, mut warned) = (String::new(), false);
        self.ask(PROMPT);
        loop {
            let line = tokio::select! {
                line = self.next() => line?,
                exit = signals.next() => match exit {
                    Exit::Interrupted if self.attended && !warned => {
                        (text, warned) = (String::new(), true);
                        self.ask(&format!("\n{AGAIN}\n{PROMPT}"));
                        continue;
                    }
                    Exit::Interrupted if self.attended => return Ok(self.end()),
                    exit => return Ok(Read::Stopped(exit)),
                },
            };
            let Some((_, line)) = line else {
                return Ok(if text.is_empty() { self.end() } else { Read::Said(text) });
            };
            match line.strip_suffix('\\') {
                Some(part) => text = format!("{text}{part}\n"),
                None => return Ok(Read::Said(text + &line)),
            }
            self.ask(GOES_ON);
        }
    }

    /// The prompt's line has no end of its own.
    fn end(&self) -> Read {
        self.ask("\n");
        Read::End
    }

    /// Asks for a line that is read next.
    pub(super) fn ask(&self, prompt: &str) {
        if self.attended {
            Screen::standard().in_its_place(prompt);
        }
    }

    /// The next line as it is. `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<(Instant, String)>, Failure> {
        let unreadable = |why: String| Failure::usage(why).help("give text, one line for each thing to say");
        self.arriving.recv().await.transpose().map_err(unreadable)
    }
}

/// The next line without its end; `None` behind the last.
fn line(from: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let read = io::Read::take(&mut *from, MOST_BYTES as u64 + 1).read_until(b'\n', &mut bytes);
    let count = read.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if count > MOST_BYTES {
        return Err(format!("a line of standard input is longer than {MOST_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "a line of standard input is not UTF-8".to_owned())?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    Ok((count > 0).then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &[u8]) -> Vec<Result<Read, String>> {
        let input = input.to_vec();
        let mut lines = Lines::of(move || io::Cursor::new(input), false);
        let mut signals = Signals::listen().unwrap();
        let mut all = Vec::new();
        loop {
            let read = lines.read(&mut signals).await.map_err(|failure| failure.message.clone());
            let ends = matches!(read, Ok(Read::End) | Err(_));
            all.push(read);
            if ends {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn every_line_is_something_said_and_a_backslash_goes_on() {
        let said = |text: &str| Ok(Read::Said(text.to_owned()));
        for (input, expected) in [
            (&b""[..], vec![Ok(Read::End)]),
            (b"one\ntwo\r\n", vec![said("one"), said("two"), Ok(Read::End)]),
            (b"one\\\ntwo\\\nthree\nfour", vec![said("one\ntwo\nthree"), said("four"), Ok(Read::End)]),
            (b"one\\\n", vec![said("one\n"), Ok(Read::End)]),
            (b"\n\n", vec![said(""), said(""), Ok(Read::End)]),
            (b"a\xff\n", vec![Err("a line of standard input is not UTF-8".to_owned())]),
        ] {
            assert_eq!(all(input).await, expected, "{input:?}");
        }
        let long = all(&vec![b'x'; MOST_BYTES + 1]).await;
        assert_eq!(long, [Err(format!("a line of standard input is longer than {MOST_BYTES} bytes"))]);
    }
}
