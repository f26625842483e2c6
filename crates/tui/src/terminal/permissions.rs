//! Platform permissions, granted at the terminal until the process ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{
    BoxFuture,
    ports::{PermissionAnswer, PermissionHost, PermissionState},
};
use haft_text::display;

use super::{Terminal, yes_or_no};
use crate::output::CAUTION;

const PROMPT: &str = "Grant it? [y/n/never] ";

/// Asks for permissions at the terminal.
#[derive(Debug)]
pub struct TerminalPermissions {
    terminal: Arc<Terminal>,
    answers: Mutex<HashMap<String, PermissionState>>,
}

impl TerminalPermissions {
    pub fn new(terminal: Arc<Terminal>) -> Self {
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
            let text = format!("\n{CAUTION}A tool needs the permission{CAUTION:#} {}\n", display::escape_line(permission));
            let answer = self.terminal.ask(&text, PROMPT, parse_answer).await.unwrap_or(PermissionAnswer::Denied);
            self.remember(permission, answer);
            answer
        })
    }

    fn settings_hint(&self, permission: &str) -> String {
        format!("'{permission}' is denied until haft ends; restart haft to be asked again.")
    }
}

fn parse_answer(line: &str) -> Option<PermissionAnswer> {
    if line.eq_ignore_ascii_case("never") {
        return Some(PermissionAnswer::DeniedForGood);
    }
    yes_or_no(line).map(|granted| if granted { PermissionAnswer::Granted } else { PermissionAnswer::Denied })
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
            assert_eq!(parse_answer(line), Some(answer), "{line:?}");
            host.remember("CAMERA", answer);
            assert_eq!((host.state("CAMERA"), host.state("OTHER")), (state, PermissionState::Missing), "{line:?}");
        }
        assert_eq!(parse_answer("perhaps"), None);
    }

    #[tokio::test]
    async fn end_of_input_denies_a_permission() {
        let host = TerminalPermissions::new(Arc::new(Terminal::typing(&[])));
        assert_eq!(host.request("CAMERA").await, PermissionAnswer::Denied);
        assert_eq!(host.state("CAMERA"), PermissionState::Missing);
    }
}
