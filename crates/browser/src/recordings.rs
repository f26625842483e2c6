//! Recordings of sessions: one picture for each step, in a folder for each session.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Steps of a session that are kept; the oldest go.
const MOST_STEPS: usize = 300;
/// Names of sessions.
const LONGEST_NAME: usize = 80;
/// Bytes of the facts of a step, and of a picture, that are read.
const MOST_FACTS: u64 = 64 << 10;
const MOST_PICTURE: u64 = 16 << 20;

/// A step of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedStep {
    /// Its number, from 1.
    pub number: u64,
    /// When it was done, in milliseconds since 1970.
    pub at: u64,
    /// The id of the call.
    pub call: String,
    /// What was done, such as `click button "Pay"`. Text that was typed is not in it.
    pub action: String,
    /// What came of it.
    pub outcome: String,
    /// Whether it was done.
    pub is_done: bool,
    /// Where the page was afterwards, without what follows a `?`.
    pub url: String,
    /// Whether there is a picture.
    pub has_picture: bool,
}

/// The recording of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSession {
    /// The session.
    pub session: String,
    /// How many steps there are.
    pub steps: usize,
    /// When the first and the last was done, in milliseconds since 1970.
    pub times: (u64, u64),
}

/// The recordings in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recordings {
    folder: PathBuf,
}

impl Recordings {
    /// Those in this folder, which need not be there.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// All recordings, the newest first.
    pub fn sessions(&self) -> Vec<RecordedSession> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let recorded = |session: String| {
            let steps = self.steps(&session);
            let times = (steps.first()?.at, steps.last()?.at);
            Some(RecordedSession { session, steps: steps.len(), times })
        };
        let mut sessions: Vec<RecordedSession> = names.filter_map(recorded).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.times.1));
        sessions
    }

    /// The steps of a session, the first one first.
    pub fn steps(&self, session: &str) -> Vec<RecordedStep> {
        let Some(folder) = self.of_session(session) else { return Vec::new() };
        let read = |number: u64| serde_json::from_slice(&bounded(&facts_file(&folder, number), MOST_FACTS).ok()?).ok();
        numbers(&folder).into_iter().filter_map(read).collect()
    }

    /// The picture of a step, in JPEG.
    pub fn picture(&self, session: &str, number: u64) -> Option<Vec<u8>> {
        bounded(&self.picture_file(session, number)?, MOST_PICTURE).ok()
    }

    /// The file of a picture.
    pub fn picture_file(&self, session: &str, number: u64) -> Option<PathBuf> {
        Some(picture_file(&self.of_session(session)?, number))
    }

    /// Adds a step with its picture. Its number is the next one.
    pub(crate) fn add(&self, session: &str, mut step: RecordedStep, picture: Option<&[u8]>) -> io::Result<()> {
        let folder = self.of_session(session).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let known = numbers(&folder);
        step.number = known.last().copied().unwrap_or(0) + 1;
        if let Some(picture) = picture {
            write(&picture_file(&folder, step.number), picture)?;
        }
        step.has_picture = picture.is_some();
        write(&facts_file(&folder, step.number), &serde_json::to_vec(&step)?)?;
        let beyond = (known.len() + 1).saturating_sub(MOST_STEPS);
        for number in known.into_iter().take(beyond) {
            // What cannot be removed now is counted again with the next step.
            fs::remove_file(facts_file(&folder, number)).ok();
            fs::remove_file(picture_file(&folder, number)).ok();
        }
        Ok(())
    }

    /// The folder of a session. A name that could lead elsewhere has none.
    fn of_session(&self, session: &str) -> Option<PathBuf> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_name = !session.is_empty() && session.len() <= LONGEST_NAME && session.bytes().all(is_plain);
        is_name.then(|| self.folder.join(session))
    }
}

fn facts_file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:06}.json"))
}

fn picture_file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:06}.jpg"))
}

/// The numbers of the steps in a folder, in order.
fn numbers(folder: &Path) -> Vec<u64> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut numbers: Vec<u64> = names.filter_map(|name| name.strip_suffix(".json")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

fn bounded(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file that only this user reads.
fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut opened = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    opened.write_all(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn step(at: u64) -> RecordedStep {
        let (call, action, url) = (format!("c{at}"), "open".into(), "http://a.test/".into());
        RecordedStep { number: 0, at, call, action, outcome: String::new(), is_done: true, url, has_picture: false }
    }

    #[test]
    fn steps_are_numbered_bounded_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let recordings = Recordings::new(folder.path().join("recordings"));
        assert_eq!((recordings.sessions(), recordings.steps("s")), (Vec::new(), Vec::new()));
        for at in 1..=MOST_STEPS as u64 + 2 {
            recordings.add("s", step(at), Some(b"picture")).unwrap();
        }
        recordings.add("t", step(999), None).unwrap();
        let (steps, last) = (recordings.steps("s"), MOST_STEPS as u64 + 2);
        assert_eq!((steps.len(), steps[0].number, steps[0].call.as_str()), (MOST_STEPS, 3, "c3"));
        assert_eq!(recordings.picture("s", last).as_deref(), Some(&b"picture"[..]));
        assert_eq!((recordings.picture("s", 1), recordings.picture("t", 1)), (None, None));
        let found = [("t", 1, (999, 999)), ("s", MOST_STEPS, (3, last))];
        let found = found.map(|(session, steps, times)| RecordedSession { session: session.into(), steps, times });
        assert_eq!(recordings.sessions(), found);
        for (path, mode) in [(folder.path().join("recordings/s"), 0o700), (recordings.picture_file("s", last).unwrap(), 0o600)] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn no_name_of_a_session_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let recordings = Recordings::new(folder.path().join("recordings"));
        for name in ["", "..", "../x", "/tmp", "a/b", ".", "a\0b", &"x".repeat(81)] {
            assert!(recordings.add(name, step(1), Some(b"x")).is_err(), "{name:?}");
            assert_eq!((recordings.steps(name).len(), recordings.picture(name, 1)), (0, None), "{name:?}");
        }
        assert!(!folder.path().join("recordings").exists());
    }
}
