//! The platform's permissions, granted by the person at the terminal for as long as this process lives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::visible;
use haft_contract::{BoxFuture, PermissionAnswer, PermissionHost, PermissionState};

use super::Terminal;
use crate::output::CARE;

const PROMPT: &str = "Grant it? [y/n/never] ";

/// A platform that asks at the terminal.
#[derive(Debug)]
pub(crate) struct TerminalPermissions {
    terminal: Arc<Terminal>,
    answers: Mutex<HashMap<String, PermissionState>>,
}

impl TerminalPermissions {
    pub(crate) fn new(terminal: Arc<Terminal>) -> Self {
        Self { terminal, answers: Mutex::default() }
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<String, PermissionState>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, permission: &str, answer: PermissionAnswer) {
        let state = match answer {
            PermissionAnswer::Granted => PermissionState::Granted,
            PermissionAnswer::Denied => PermissionState::Missing,
            PermissionAnswer::DeniedForGood => PermissionState::DeniedForGood,
        };
        self.answers().insert(permission.to_owned(), state);
    }
}

impl PermissionHost for TerminalPermissions {
    fn state(&self, permission: &str) -> PermissionState {
        self.answers().get(permission).copied().unwrap_or(PermissionState::Missing)
    }

    fn request<'a>(&'a self, permission: &'a str) -> BoxFuture<'a, PermissionAnswer> {
        Box::pin(async move {
            let text = format!("\n{CARE}A tool needs the permission{CARE:#} {}\n", visible::line(permission));
            let answer = self.terminal.ask(&text, PROMPT, understood).await.unwrap_or(PermissionAnswer::Denied);
            self.remember(permission, answer);
            answer
        })
    }

    fn settings_hint(&self, permission: &str) -> String {
        format!("'{permission}' was denied for as long as this haft runs; start it again to be asked again.")
    }
}

fn understood(line: &str) -> Option<PermissionAnswer> {
    match line.to_lowercase().as_str() {
        "y" | "yes" => Some(PermissionAnswer::Granted),
        "" | "n" | "no" => Some(PermissionAnswer::Denied),
        "never" => Some(PermissionAnswer::DeniedForGood),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_remembered_as_the_platform_would() {
        for (line, answer, state) in [
            ("y", PermissionAnswer::Granted, PermissionState::Granted),
            ("No", PermissionAnswer::Denied, PermissionState::Missing),
            ("", PermissionAnswer::Denied, PermissionState::Missing),
            ("never", PermissionAnswer::DeniedForGood, PermissionState::DeniedForGood),
        ] {
            let host = TerminalPermissions::new(Arc::new(Terminal::typing(&[])));
            assert_eq!(host.state("CAMERA"), PermissionState::Missing);
            assert_eq!(understood(line), Some(answer), "{line:?}");
            host.remember("CAMERA", answer);
            assert_eq!((host.state("CAMERA"), host.state("OTHER")), (state, PermissionState::Missing), "{line:?}");
        }
        assert_eq!(understood("perhaps"), None);
    }

    #[tokio::test]
    async fn the_end_of_input_is_a_denial() {
        let host = TerminalPermissions::new(Arc::new(Terminal::typing(&[])));
        assert_eq!(host.request("CAMERA").await, PermissionAnswer::Denied);
        assert_eq!(host.state("CAMERA"), PermissionState::Missing);
    }
}
