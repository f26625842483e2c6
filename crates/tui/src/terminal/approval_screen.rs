//! The screen of an approval: what, why, the keys. Everything else is behind `?`.

use std::path::Path;

use haft_contract::{Connect, Effect, ExecHost, Zone, ports::ApprovalRequest};
use haft_text::display;
use haft_text::truncate::ellipsize_to_width;
use serde_json::Value;

use super::proposed_change::proposed_change;
use crate::diff;
use crate::output::{CAUTION, DIM, STRONG};
use crate::table::{break_line, wrap_hard};
use crate::text_builder::TextBuilder;

/// Lines of a diff that are shown at once.
const DIFF_LINES: usize = 14;
/// Rows of other arguments that are shown at once.
const ARGUMENT_ROWS: usize = 2;
const INDENT: &str = "  ";

/// A key, and what it does.
pub(super) type KeyHint = (&'static str, &'static str);

/// What the screen is drawn for.
pub(super) struct ApprovalScreen<'a> {
    pub(super) request: &'a ApprovalRequest,
    /// Where "always" saves rules, if it can.
    pub(super) rules_file: Option<&'a Path>,
    pub(super) columns: usize,
}

impl ApprovalScreen<'_> {
    /// The question.
    pub(super) fn render(&self) -> String {
        let mut page = TextBuilder::default();
        page.line("");
        self.show_what(&mut page);
        self.show_why(&mut page);
        if let Some(fault) = &self.request.edit_fault {
            self.paragraph(&format!("{CAUTION}not accepted{CAUTION:#}: "), "not accepted: ".len(), fault, &mut page);
        }
        for line in self.key_lines() {
            page.line(line);
        }
        page.finish()
    }

    /// The keys that answer this question.
    pub(super) fn keys(&self) -> Vec<KeyHint> {
        let mut keys = vec![("y", "once")];
        if self.request.rules.is_ok() {
            keys.push(("s", "session"));
        }
        if self.offers_always() {
            keys.push(("a", "always…"));
        }
        if self.can_edit() {
            keys.push(("e", "edit"));
        }
        keys.extend([("n", "no"), ("c", "no, because…"), ("?", "more")]);
        keys
    }

    pub(super) fn offers_always(&self) -> bool {
        self.request.rules.is_ok() && self.rules_file.is_some() && !self.request.widths.is_empty()
    }

    /// A connection of a running command has no arguments of its own.
    pub(super) fn can_edit(&self) -> bool {
        self.connections().is_none_or(|connections| !connections.iter().any(|connect| connect.is_tunnel()))
    }

    /// The widths to choose from, each with the past calls that it would have covered.
    pub(super) fn render_widths(&self, file: &Path) -> String {
        let mut page = TextBuilder::default();
        self.paragraph("", 0, &format!("Allow without asking, saved in {}:", file.to_string_lossy()), &mut page);
        for (index, width) in self.request.widths.iter().enumerate() {
            let head = format!("[{}] {}: ", index + 1, width.name);
            let styled = format!("{STRONG}[{}]{STRONG:#} {}: ", index + 1, width.name);
            self.paragraph(&styled, head.len(), &width.rules.join(", "), &mut page);
            let calls = match width.past_calls {
                0 => "no past call".to_owned(),
                1 => format!("1 past call: {}", width.past.join(" · ")),
                count => format!("{count} past calls: {}{}", width.past.join(" · "), if count > width.past.len() { " …" } else { "" }),
            };
            let calls = ellipsize_to_width(&display::escape_line(&calls), self.columns.saturating_sub(4));
            page.line(format_args!("    {DIM}{calls}{DIM:#}"));
        }
        page.line(format_args!("{STRONG}[e]{STRONG:#} edit a rule before it is saved"));
        page.finish()
    }

    fn show_what(&self, page: &mut TextBuilder) {
        let ApprovalRequest { call, arguments, effects, .. } = self.request;
        let agent = if &*call.agent == "main" { String::new() } else { format!(" (agent {})", display::escape_line(&call.agent)) };
        let tool = format!("{}{agent}", display::escape_line(&call.tool));
        let (head, width) = (format!("{CAUTION}{tool}{CAUTION:#}: "), tool.chars().count() + 2);
        let command = arguments["command"].as_str().filter(|command| !command.is_empty());
        let changes = effects.iter().any(|effect| matches!(effect, Effect::Write(_) | Effect::Delete(_)));
        match (self.connections(), command) {
            (Some(connections), command) => {
                let hosts: Vec<String> = connections.iter().map(|connect| connection(connect)).collect();
                self.paragraph(&head, width, &hosts.join(", "), page);
                match command {
                    Some(command) => self.paragraph(&format!("{INDENT}for "), 6, &display::shorten(command, 200), page),
                    None => self.show_arguments(&[], page),
                }
            }
            (None, Some(command)) => {
                self.verbatim(&head, width, command, page);
                self.show_place(page);
                self.show_arguments(&["command"], page);
            }
            (None, None) if changes => {
                self.paragraph(&head, width, &self.files(), page);
                self.show_change(page);
            }
            (None, None) => {
                let targets: Vec<String> = effects.iter().map(described).collect();
                let text = if targets.is_empty() { "it does not say what it does".to_owned() } else { targets.join(", ") };
                self.paragraph(&head, width, &text, page);
                self.show_arguments(&[], page);
            }
        }
    }

    /// The connections, if the call does nothing but connect.
    fn connections(&self) -> Option<Vec<&Connect>> {
        let all: Option<Vec<&Connect>> =
            self.request.effects.iter().map(|effect| if let Effect::Connect(connect) = effect { Some(connect) } else { None }).collect();
        all.filter(|connections| !connections.is_empty())
    }

    /// What becomes of which files.
    fn files(&self) -> String {
        let changed = self.request.effects.iter().filter(|effect| !matches!(effect, Effect::Read(_)));
        changed.map(described).collect::<Vec<_>>().join(", ")
    }

    fn show_change(&self, page: &mut TextBuilder) {
        let Some(change) = proposed_change(self.request) else { return self.show_arguments(&["path"], page) };
        let lines: Vec<String> =
            change.lines().map(|line| ellipsize_to_width(&display::escape_line(line), self.columns.saturating_sub(INDENT.len()))).collect();
        let shown = if lines.len() > DIFF_LINES + 1 { DIFF_LINES } else { lines.len() };
        for line in diff::style_lines(&lines[..shown]) {
            page.line(format_args!("{INDENT}{line}"));
        }
        if shown < lines.len() {
            page.line(format_args!("{INDENT}{DIM}… {} more lines; ? shows them{DIM:#}", lines.len() - shown));
        }
    }

    /// Where programs run, if not in the sandbox.
    fn show_place(&self, page: &mut TextBuilder) {
        let host = self.request.effects.iter().find_map(|effect| match effect {
            Effect::Exec(exec) if exec.host != ExecHost::Sandbox => Some(exec.host),
            _ => None,
        });
        let place = match host {
            Some(ExecHost::Host) => "on this machine, without a sandbox",
            Some(ExecHost::Container) => "in a container",
            Some(ExecHost::Node) => "on a paired machine",
            _ => return,
        };
        page.line(format_args!("{INDENT}{CAUTION}{place}{CAUTION:#}"));
    }

    /// The arguments that the line above does not show, shortened.
    fn show_arguments(&self, shown: &[&str], page: &mut TextBuilder) {
        let Value::Object(arguments) = &self.request.arguments else { return };
        let others: Vec<String> =
            arguments.iter().filter(|(name, _)| !shown.contains(&name.as_str())).map(|(name, value)| format!("{name}={value}")).collect();
        if others.is_empty() {
            return;
        }
        let text = display::escape_line(&format!("with {}", others.join(", "))).into_owned();
        let mut rows = break_line(&text, self.columns.saturating_sub(INDENT.len()).max(1));
        if rows.len() > ARGUMENT_ROWS {
            rows.truncate(ARGUMENT_ROWS);
            rows.push("… ? shows the rest".to_owned());
        }
        for row in rows {
            page.line(format_args!("{INDENT}{DIM}{row}{DIM:#}"));
        }
    }

    fn show_why(&self, page: &mut TextBuilder) {
        self.paragraph(&format!("{STRONG}why{STRONG:#}: "), 5, &self.request.reason, page);
    }

    /// The keys on as few lines as they need.
    fn key_lines(&self) -> Vec<String> {
        let mut lines = vec![(String::new(), 0)];
        for (key, word) in self.keys() {
            let width = key.len() + word.chars().count() + 3;
            if lines.last().is_some_and(|(line, used)| !line.is_empty() && used + 2 + width > self.columns) {
                lines.push((String::new(), 0));
            }
            if let Some((line, used)) = lines.last_mut() {
                let gap = if line.is_empty() { "" } else { "  " };
                *line = format!("{line}{gap}{STRONG}[{key}]{STRONG:#} {word}");
                *used += gap.len() + width;
            }
        }
        lines.into_iter().map(|(line, _)| line).collect()
    }

    /// A head and prose behind it, on as many lines as it needs.
    fn paragraph(&self, head: &str, head_width: usize, text: &str, page: &mut TextBuilder) {
        // Letters in place of the head keep its room in the first row; the others are indented.
        let text = format!("{}{}", "x".repeat(head_width), display::escape_line(text));
        let columns = self.columns.saturating_sub(INDENT.len()).max(head_width + 8);
        for (number, row) in wrap_hard(&text, columns).iter().enumerate() {
            match row.get(head_width..).filter(|_| number == 0) {
                Some(row) => page.line(format_args!("{head}{row}")),
                None => page.line(format_args!("{INDENT}{row}")),
            }
        }
    }

    /// A head and text as it was typed, whole.
    fn verbatim(&self, head: &str, head_width: usize, text: &str, page: &mut TextBuilder) {
        let escaped = display::escape_lines(text);
        for (number, line) in escaped.lines().enumerate() {
            let (head, width) = if number == 0 { (head, head_width) } else { (INDENT, INDENT.len()) };
            let rows = break_line(line, self.columns.saturating_sub(width.max(INDENT.len())).max(8));
            for (place, row) in rows.iter().enumerate() {
                page.line(format_args!("{}{STRONG}{row}{STRONG:#}", if place == 0 { head } else { INDENT }));
            }
        }
    }
}

/// One effect in a few words.
fn described(effect: &Effect) -> String {
    match effect {
        Effect::Read(path) | Effect::Write(path) | Effect::Delete(path) => {
            let outside = if path.location.zone() == Zone::Outside { " (outside the workspace)" } else { "" };
            format!("{} {}{outside}", effect.kind(), path.location.display())
        }
        Effect::Connect(connect) => connection(connect),
        Effect::Unknown { why } => why.clone(),
        other => format!("{} {}", other.kind(), other.target()),
    }
}

fn connection(connect: &Connect) -> String {
    let host = format!("{}:{}", connect.host, connect.port);
    match connect.method.as_str() {
        "CONNECT" | "GET" | "HEAD" => format!("connect to {host}"),
        method => format!("{method} to {host}"),
    }
}

#[cfg(test)]
mod tests;
