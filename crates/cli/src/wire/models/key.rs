//! The source of a provider's key. The key is read for a request and never shown.

mod words;

use std::process::ExitStatus;
use std::time::Duration;

use haft_provider::ApiKey;

pub(crate) use self::words::words;
use super::variable;
use crate::failure::Failure;
use crate::wire::user_program::run_user_program;

/// Time for the command; a password manager may ask the user first.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest key.
const MOST_BYTES: u64 = 64 * 1024;

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// The provider needs no key.
    None,
    /// An environment variable.
    Variable(String),
    /// The first line of a command's output.
    Command(String),
}

impl KeySource {
    /// Whether there is a key; a command counts without being run.
    pub(crate) fn is_set(&self) -> bool {
        match self {
            Self::Variable(name) => variable(name).is_some(),
            Self::None | Self::Command(_) => true,
        }
    }

    /// The program of a command.
    pub(crate) fn program(&self) -> Option<String> {
        let Self::Command(command) = self else { return None };
        words(command).ok()?.into_iter().next()
    }

    /// Reads the key. `provider` is for messages.
    pub(super) async fn read(&self, provider: &str) -> Result<Option<ApiKey>, Failure> {
        match self {
            Self::None => Ok(None),
            Self::Variable(name) => ApiKey::from_env(name, variable).map(Some).map_err(|error| Failure::config(error.message)),
            Self::Command(command) => {
                let words = words(command).map_err(|why| failed(provider, &format!("api_key_command {why}")))?;
                first_line(&words, PATIENCE).await.map(|line| Some(ApiKey::new(line))).map_err(|why| failed(provider, &why))
            }
        }
    }
}

/// The output of the command is not shown: it may be the key.
fn failed(provider: &str, why: &str) -> Failure {
    let help = format!("it is api_key_command in [providers.{provider}]; run it yourself to see its output");
    Failure::config(format!("there is no key for the provider '{provider}': {why}")).help(help)
}

async fn first_line(words: &[String], patience: Duration) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else { return Err("api_key_command is empty".to_owned()) };
    let running = tokio::time::timeout(patience, run_user_program(program, arguments, MOST_BYTES)).await;
    let output = running.map_err(|_| format!("'{program}' took longer than {patience:?}"))??;
    if !output.status.success() {
        return Err(format!("'{program}' {}", ending(output.status)));
    }
    let text = String::from_utf8(output.bytes).map_err(|_| format!("the output of '{program}' is not text"))?;
    let line = text.lines().next().map(str::trim).filter(|line| !line.is_empty());
    line.map(str::to_owned).ok_or_else(|| format!("the first line of the output of '{program}' is empty"))
}

fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with exit code {code}"),
        None => "was ended by a signal".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn key_command_gives_its_first_line_within_a_timeout() {
        let read = async |command: &str, patience| first_line(&words(command).unwrap(), patience).await;
        assert_eq!(read("printf ' key-1 \\nmore\\n'", PATIENCE).await.as_deref(), Ok("key-1"));
        let short = Duration::from_millis(20);
        assert_eq!(read("sleep 60", short).await, Err("'sleep' took longer than 20ms".to_owned()));
        assert_eq!(read("cat /dev/zero", PATIENCE).await, Err("'cat' was ended by a signal".to_owned()));
        assert_eq!(read("", PATIENCE).await, Err("api_key_command is empty".to_owned()));
    }
}
