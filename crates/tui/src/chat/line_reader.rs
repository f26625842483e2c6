//! Plain lines, from a pipe or a terminal without symbols.

use std::io::{self, BufRead, IsTerminal};
use std::time::Instant;

use tokio::sync::mpsc;

use super::editor::{AGAIN, InputEvent, News};
use crate::failure::{Exit, Failure};
use crate::signals::Signals;
use crate::terminal::Screen;

/// The longest line.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// How many lines are buffered.
const WAITING: usize = 4;
const PROMPT: &str = "you: ";
const CONTINUED: &str = "     ";

/// A line and when it was read, or an error.
type ReadLine = Result<(Instant, String), String>;

/// Lines, read on a separate thread that may block forever.
#[derive(Debug)]
pub(super) struct LineReader {
    lines: mpsc::Receiver<ReadLine>,
    /// Whether a user types at a terminal.
    pub(super) attended: bool,
}

impl LineReader {
    pub(super) fn open() -> Self {
        Self::spawn(|| io::stdin().lock(), io::stdin().is_terminal() && io::stderr().is_terminal())
    }

    fn spawn<R: BufRead>(open: impl FnOnce() -> R + Send + 'static, attended: bool) -> Self {
        let (sender, lines) = mpsc::channel(WAITING);
        let forward = move || {
            let mut from = open();
            while let Some(read) = line(&mut from).transpose() {
                let fails = read.is_err();
                if sender.blocking_send(read.map(|line| (Instant::now(), line))).is_err() || fails {
                    return;
                }
            }
        };
        // Without the thread the channel is closed, which is the end of input.
        std::thread::Builder::new().name("haft-lines".into()).spawn(forward).ok();
        Self { lines, attended }
    }

    /// The next message, with continued lines.
    pub(super) async fn read(&mut self, signals: &mut Signals, news: &mut News) -> Result<InputEvent, Failure> {
        let (mut text, mut warned) = (String::new(), false);
        self.ask(PROMPT);
        loop {
            let line = tokio::select! {
                line = self.next() => line?,
                // A script has the order of its lines; a message that is begun is finished first.
                by = &mut *news, if self.attended && text.is_empty() => {
                    self.ask("\n");
                    return Ok(InputEvent::Interrupted(by, String::new()));
                }
                exit = signals.next() => match exit {
                    Exit::Interrupted if self.attended && !warned => {
                        (text, warned) = (String::new(), true);
                        self.ask(&format!("\n{AGAIN}\n{PROMPT}"));
                        continue;
                    }
                    Exit::Interrupted if self.attended => return Ok(self.end()),
                    exit => return Ok(InputEvent::Stopped(exit)),
                },
            };
            let Some((_, line)) = line else {
                return Ok(if text.is_empty() { self.end() } else { InputEvent::Message(text) });
            };
            match line.strip_suffix('\\') {
                Some(part) => text = format!("{text}{part}\n"),
                None => return Ok(InputEvent::Message(text + &line)),
            }
            self.ask(CONTINUED);
        }
    }

    fn end(&self) -> InputEvent {
        self.ask("\n");
        InputEvent::End
    }

    /// Shows a prompt.
    pub(super) fn ask(&self, prompt: &str) {
        if self.attended {
            Screen::standard().write_note(prompt);
        }
    }

    /// The next line; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<(Instant, String)>, Failure> {
        let unreadable = |why: String| Failure::usage(why).help("give text, one line for each message");
        self.lines.recv().await.transpose().map_err(unreadable)
    }
}

/// The next line without its line break; `None` at the end.
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
    use super::super::editor::Interruption;
    use super::*;

    /// Nothing ever happens.
    fn no_news() -> News {
        Box::pin(std::future::pending())
    }

    async fn all(input: &[u8]) -> Vec<Result<InputEvent, String>> {
        let input = input.to_vec();
        let mut lines = LineReader::spawn(move || io::Cursor::new(input), false);
        let mut signals = Signals::listen().unwrap();
        let mut all = Vec::new();
        loop {
            let read = lines.read(&mut signals, &mut no_news()).await.map_err(|failure| failure.message.clone());
            let ends = matches!(read, Ok(InputEvent::End) | Err(_));
            all.push(read);
            if ends {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn each_line_is_a_message_and_a_backslash_continues_it() {
        let message = |text: &str| Ok(InputEvent::Message(text.to_owned()));
        for (input, expected) in [
            (&b""[..], vec![Ok(InputEvent::End)]),
            (b"one\ntwo\r\n", vec![message("one"), message("two"), Ok(InputEvent::End)]),
            (b"one\\\ntwo\\\nthree\nfour", vec![message("one\ntwo\nthree"), message("four"), Ok(InputEvent::End)]),
            (b"one\\\n", vec![message("one\n"), Ok(InputEvent::End)]),
            (b"\n\n", vec![message(""), message(""), Ok(InputEvent::End)]),
            (b"a\xff\n", vec![Err("a line of standard input is not UTF-8".to_owned())]),
        ] {
            assert_eq!(all(input).await, expected, "{input:?}");
        }
        let long = all(&vec![b'x'; MOST_BYTES + 1]).await;
        assert_eq!(long, [Err(format!("a line of standard input is longer than {MOST_BYTES} bytes"))]);
    }

    #[tokio::test]
    async fn news_end_the_input_of_a_user_and_leave_that_of_a_script() {
        let interrupted = InputEvent::Interrupted(Interruption::News, String::new());
        for (attended, expected) in [(true, interrupted), (false, InputEvent::End)] {
            let (reader, writer) = io::pipe().unwrap();
            let mut lines = LineReader::spawn(move || io::BufReader::new(reader), attended);
            let mut signals = Signals::listen().unwrap();
            let mut news: News = Box::pin(async { Interruption::News });
            let read = lines.read(&mut signals, &mut news);
            // A script's input ends when its writer does.
            let read = async { if attended { read.await } else { tokio::join!(read, async { drop(writer) }).0 } };
            assert_eq!(read.await.map_err(|failure| failure.message.clone()), Ok(expected), "{attended}");
        }
    }
}
