//! A client of IMAP4rev1 that reads: LOGIN, SELECT, UID SEARCH, UID FETCH, IDLE. Nothing is marked as read.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use url::Url;

use super::LoginSecrets;
use super::letter::Letter;
use crate::dial::{DialedStream, dial};
use crate::limits::MOST_ANSWER_BYTES;
use crate::settings::{ChannelSettings, is_loopback};
use crate::{ChannelSecret, SendFailure};

const TIMEOUT: Duration = Duration::from_secs(20);
/// How long to wait for a mail.
const IDLE: Duration = Duration::from_secs(25);
/// Bytes of the text of a mail.
const MOST_TEXT: usize = 65_536;
/// Bytes of its headers: more of them, which anyone can write, must not end the reading of all mails.
const MOST_HEADER: usize = 262_144;
/// Lines of one answer.
const MOST_LINES: usize = 10_000;

/// Where mail is read, and as whom.
pub(super) struct ImapAccount {
    host: String,
    port: u16,
    is_plain: bool,
    user: String,
    password: ChannelSecret,
    secrets: LoginSecrets,
}

impl ImapAccount {
    pub(super) fn new(url: &str, settings: &ChannelSettings) -> Result<Self, String> {
        let wrong = || format!("imap_url '{url}' is not one: write imaps://mail.example.org");
        let url = Url::parse(url).map_err(|_| wrong())?;
        let is_plain = match url.scheme() {
            "imaps" => false,
            "imap" if is_loopback(&url) => true,
            "imap" => return Err("imap_url is not encrypted, and everybody on the way could read the password; use imaps".into()),
            _ => return Err(wrong()),
        };
        let user = settings.user.clone().or_else(|| settings.from.clone()).ok_or("user is not set: the name of the mail account")?;
        let port = url.port().unwrap_or(if is_plain { 143 } else { 993 });
        let host = url.host_str().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port, is_plain, user, password: settings.token()?, secrets: LoginSecrets::new(settings) })
    }
}

/// A mailbox, as it is when it is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MailboxState {
    pub(super) validity: u32,
    pub(super) next: u32,
}

/// One line of an answer; what came as literals is beside it.
#[derive(Debug, Default)]
struct ImapLine {
    text: String,
    literals: Vec<Vec<u8>>,
}

impl ImapLine {
    /// Whether it is about this mail.
    fn is_of(&self, uid: u32) -> bool {
        let words = self.text.split(|ch: char| ch.is_ascii_whitespace() || "()".contains(ch));
        let mut after = words.skip_while(|word| *word != "UID").skip(1);
        self.text.contains("FETCH (") && after.next() == Some(uid.to_string().as_str())
    }

    /// Header and text, in whichever order they come. What is short or empty may be quoted, or `NIL`, instead of a literal.
    fn parts(mut self) -> (Vec<u8>, Vec<u8>) {
        let at = |name: &str| self.text.find(name);
        let (header, text) = (at("BODY[HEADER]"), at("BODY[TEXT]"));
        let is_literal = |at: Option<usize>| {
            let value = at.and_then(|at| self.text[at..].split_once(' ')).map(|(_, value)| value);
            value.is_some_and(|value| value.starts_with('{'))
        };
        let quoted = |at: Option<usize>| {
            let value = at.and_then(|at| self.text[at..].split_once(" \"")).and_then(|(_, value)| value.split_once('"'));
            value.map(|(value, _)| value.as_bytes().to_vec()).unwrap_or_default()
        };
        match (is_literal(header), is_literal(text)) {
            (true, true) => {
                let (second, first) = (self.literals.pop().unwrap_or_default(), self.literals.pop().unwrap_or_default());
                if header < text { (first, second) } else { (second, first) }
            }
            (true, false) => (std::mem::take(&mut self.literals).pop().unwrap_or_default(), quoted(text)),
            (false, true) => {
                let header = quoted(header);
                (header, self.literals.pop().unwrap_or_default())
            }
            (false, false) => (quoted(header), quoted(text)),
        }
    }
}

/// A connection that is logged in.
pub(super) struct ImapConnection {
    stream: BufReader<Box<dyn DialedStream>>,
    tag: u32,
    secrets: LoginSecrets,
}

impl ImapConnection {
    pub(super) async fn open(account: &ImapAccount) -> Result<Self, SendFailure> {
        let connected = tokio::time::timeout(TIMEOUT, dial(&account.host, account.port, account.is_plain)).await;
        let stream = connected.map_err(|_| SendFailure::not_sent("the mail server did not answer in time"))?;
        let stream = stream.map_err(|why| SendFailure::not_sent(format!("the mail server cannot be reached: {why}")))?;
        let mut connection = Self { stream: BufReader::new(stream), tag: 0, secrets: account.secrets.clone() };
        let greeting = connection.line().await?;
        if !greeting.text.starts_with("* OK") {
            return Err(SendFailure::refused(format!("the mail server greets with: {}", account.secrets.take_out_of(&greeting.text))));
        }
        let login = format!("LOGIN {} {}", quoted(&account.user)?, quoted(account.password.expose())?);
        // The command holds the password: it is in no message.
        connection
            .command(&login)
            .await
            .map_err(|failure| SendFailure { message: format!("the mail server refused the login: {failure}"), ..failure })?;
        Ok(connection)
    }

    pub(super) async fn select(&mut self, mailbox: &str) -> Result<MailboxState, SendFailure> {
        let lines = self.command(&format!("EXAMINE {}", quoted(mailbox)?)).await?;
        let number = |key: &str| {
            let found = lines.iter().find_map(|line| line.text.split_once(key).map(|(_, rest)| rest));
            found.and_then(|rest| rest.split(']').next()?.trim().parse().ok())
        };
        let validity = number("[UIDVALIDITY").ok_or_else(|| SendFailure::unknown("the mail server names no UIDVALIDITY"))?;
        let next = match number("[UIDNEXT") {
            Some(next) => next,
            // A server need not say it. Mails that were there before are not new ones.
            None => self.search(1).await?.into_iter().max().map_or(1, |newest| newest.saturating_add(1)),
        };
        Ok(MailboxState { validity, next })
    }

    /// The mails from a number on.
    pub(super) async fn search(&mut self, from: u32) -> Result<Vec<u32>, SendFailure> {
        self.search_by(&format!("UID {from}:*")).await
    }

    /// The mails of a sender, and of those whose address has it in it.
    pub(super) async fn search_from(&mut self, sender: &str) -> Result<Vec<u32>, SendFailure> {
        self.search_by(&format!("FROM {}", quoted(sender)?)).await
    }

    async fn search_by(&mut self, what: &str) -> Result<Vec<u32>, SendFailure> {
        let lines = self.command(&format!("UID SEARCH {what}")).await?;
        let numbers = lines.iter().filter_map(|line| line.text.strip_prefix("* SEARCH"));
        Ok(numbers.flat_map(|list| list.split_ascii_whitespace().filter_map(|uid| uid.parse().ok())).collect())
    }

    /// A mail; none if it is gone.
    pub(super) async fn fetch(&mut self, uid: u32) -> Result<Option<Letter>, SendFailure> {
        let lines = self.command(&format!("UID FETCH {uid} (BODY.PEEK[HEADER]<0.{MOST_HEADER}> BODY.PEEK[TEXT]<0.{MOST_TEXT}>)")).await?;
        // A server may also tell of flags of this mail, or of others.
        let found = lines.into_iter().find(|line| line.is_of(uid) && line.text.contains("BODY["));
        let Some(line) = found else { return Ok(None) };
        let (header, text) = line.parts();
        Ok(Some(Letter::new(&header, &text)))
    }

    /// Waits until a mail comes, some seconds at most.
    pub(super) async fn wait(&mut self) -> Result<(), SendFailure> {
        let tag = self.write("IDLE").await?;
        if !self.line().await?.text.starts_with('+') {
            // A server without IDLE is asked again later.
            tokio::time::sleep(IDLE).await;
            return Ok(());
        }
        let arrival = async {
            loop {
                let line = self.read_line().await?;
                if line.text.contains("EXISTS") {
                    return Ok::<_, SendFailure>(());
                }
            }
        };
        // A line that the end of the wait cuts off is lost, which is no harm: each poll has a connection of its own.
        if let Ok(arrived) = tokio::time::timeout(IDLE, arrival).await {
            arrived?;
        }
        self.stream.get_mut().write_all(b"DONE\r\n").await.map_err(|error| broken(&error))?;
        self.until(&tag).await.map(drop)
    }

    pub(super) async fn close(mut self) {
        // The mail was read; how the server says goodbye does not matter.
        self.write("LOGOUT").await.ok();
    }

    async fn command(&mut self, command: &str) -> Result<Vec<ImapLine>, SendFailure> {
        let tag = self.write(command).await?;
        self.until(&tag).await
    }

    async fn write(&mut self, command: &str) -> Result<String, SendFailure> {
        self.tag += 1;
        let tag = format!("h{}", self.tag);
        let line = format!("{tag} {command}\r\n");
        self.stream.get_mut().write_all(line.as_bytes()).await.map_err(|error| broken(&error))?;
        self.stream.get_mut().flush().await.map_err(|error| broken(&error))?;
        Ok(tag)
    }

    /// The lines before the end of a command.
    async fn until(&mut self, tag: &str) -> Result<Vec<ImapLine>, SendFailure> {
        let mut lines = Vec::new();
        while lines.len() < MOST_LINES {
            let line = self.line().await?;
            match line.text.strip_prefix(tag).map(str::trim_start) {
                Some(end) if end.starts_with("OK") => return Ok(lines),
                Some(end) => return Err(SendFailure::refused(format!("the mail server says: {}", self.secrets.take_out_of(end)))),
                None => lines.push(line),
            }
        }
        Err(SendFailure::unknown("the answer of the mail server has no end"))
    }

    async fn line(&mut self) -> Result<ImapLine, SendFailure> {
        tokio::time::timeout(TIMEOUT, self.read_line()).await.map_err(|_| SendFailure::unknown("the mail server did not answer in time"))?
    }

    /// A line with its literals: `{123}` at its end announces as many bytes, and then the line continues.
    async fn read_line(&mut self) -> Result<ImapLine, SendFailure> {
        let (mut line, mut total) = (ImapLine::default(), 0);
        loop {
            let mut part = Vec::new();
            let mut limited = (&mut self.stream).take((MOST_ANSWER_BYTES - total) as u64);
            let read = limited.read_until(b'\n', &mut part).await.map_err(|error| broken(&error))?;
            total += read;
            if read == 0 || part.last() != Some(&b'\n') {
                return Err(SendFailure::unknown("the mail server ended the connection, or its answer is too large"));
            }
            let text = String::from_utf8_lossy(&part).trim_end_matches(['\r', '\n']).to_owned();
            let Some(length) = literal_length(&text) else {
                line.text.push_str(&text);
                return Ok(line);
            };
            if length > MOST_ANSWER_BYTES - total {
                return Err(SendFailure::unknown("the answer of the mail server is too large"));
            }
            let mut literal = vec![0; length];
            self.stream.read_exact(&mut literal).await.map_err(|error| broken(&error))?;
            total += length;
            line.text.push_str(&text);
            line.literals.push(literal);
        }
    }
}

fn broken(error: &std::io::Error) -> SendFailure {
    SendFailure::unknown(format!("the connection to the mail server broke: {error}"))
}

/// Text as a quoted string; a line end could begin another command.
fn quoted(text: &str) -> Result<String, SendFailure> {
    if text.chars().any(|ch| ch.is_control() || !ch.is_ascii()) {
        return Err(SendFailure::refused("the name, password or mailbox has characters that IMAP does not take"));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

fn literal_length(line: &str) -> Option<usize> {
    line.strip_suffix('}')?.rsplit_once('{')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_begin_another_command() {
        assert_eq!(quoted("a\"b\\c").unwrap(), "\"a\\\"b\\\\c\"");
        for wrong in ["a\r\nh2 LOGOUT", "a\n", "ü", "\0"] {
            assert!(quoted(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn literals_are_announced_at_the_end_of_a_line() {
        for (line, expected) in
            [("* 1 FETCH (BODY[TEXT] {12}", Some(12)), ("x {a}", None), ("x {12} y", None), ("}", None), ("{99999999999999999999}", None)]
        {
            assert_eq!(literal_length(line), expected, "{line}");
        }
    }
}
