//! Everything about an approval: every effect, never truncated, with hidden characters escaped.

use std::path::Path;

use haft_contract::{Effect, Exec, ExecHost, Extent, PathEffect, Zone, ports::ApprovalRequest};
use haft_text::display;

use super::approval_screen::KeyHint;
use super::proposed_change::proposed_change;
use crate::diff;
use crate::effects::quote_word;
use crate::output::{CAUTION, STRONG};
use crate::text_builder::TextBuilder;

/// Longer arguments are not repeated in a command.
const COPIED_BYTES: usize = 2_000;

/// Everything about a question, and what each key means.
pub(super) fn details(request: &ApprovalRequest, keys: &[KeyHint]) -> String {
    let mut page = TextBuilder::default();
    let (tool, agent) = (display::escape_line(&request.call.tool), display::escape_line(&request.call.agent));
    page.line(format_args!("{CAUTION}{tool}{CAUTION:#} of agent {agent} would:"));
    if request.effects.is_empty() {
        page.line("  do something that it does not declare");
    }
    for effect in &request.effects {
        show_effect(effect, &mut page);
    }
    if let Some(change) = proposed_change(request) {
        let lines: Vec<String> = change.lines().map(|line| display::escape_line(line).into_owned()).collect();
        for line in diff::style_lines(&lines) {
            page.line(format_args!("  {line}"));
        }
    }
    if request.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
        page.line(format_args!("With: {}", display::escape_line(&request.arguments.to_string())));
    }
    page.line(format_args!("Asked because: {}", display::escape_line(&request.reason)));
    page.line(format_args!("`{}` shows every step.", explain_command(request)));
    show_keys(request, keys, &mut page);
    page.finish()
}

fn explain_command(request: &ApprovalRequest) -> String {
    let arguments = request.arguments.to_string();
    let arguments = if arguments.len() <= COPIED_BYTES { quote_word(&arguments) } else { "'{…}'".to_owned() };
    display::escape_line(&format!("haft explain {} {arguments}", request.call.tool)).into_owned()
}

fn show_keys(request: &ApprovalRequest, keys: &[KeyHint], page: &mut TextBuilder) {
    for (key, _) in keys {
        let meaning = match (*key, &request.rules) {
            ("y", _) => "allows this call".to_owned(),
            ("s", Ok(rules)) => format!("allows {} until the session ends", display::escape_line(&rules.join(", "))),
            ("a", _) => "saves a rule: you choose how wide".to_owned(),
            ("e", _) => "changes the arguments; the call is decided on again".to_owned(),
            ("n", _) => "denies; so does Esc".to_owned(),
            ("c", _) => "denies, and tells the model what you type".to_owned(),
            _ => continue,
        };
        page.line(format_args!("{STRONG}[{key}]{STRONG:#} {meaning}"));
    }
    if let Err(why) = &request.rules
        && !why.is_empty()
    {
        page.line(format_args!("\"Session\" and \"always\" are off because {}", display::escape_line(why)));
    }
    if let Some(limit) = request.time_limit {
        page.line(format_args!("Without an answer within {} s the call is denied.", limit.as_secs()));
    }
}

fn show_effect(effect: &Effect, page: &mut TextBuilder) {
    let target = match effect {
        Effect::Read(effect) | Effect::Write(effect) | Effect::Delete(effect) => path(effect),
        Effect::Exec(exec) => command(exec),
        Effect::Send { outward: true, .. } => format!("{}, off this machine", effect.target()),
        _ => effect.target(),
    };
    page.line(format_args!("  {STRONG}{:<8}{STRONG:#} {}", effect.kind(), display::escape_line(&target)));
    if let Effect::Exec(exec) = effect {
        show_exec_context(exec, page);
    }
}

fn path(effect: &PathEffect) -> String {
    let beneath = if effect.extent == Extent::Tree { " and everything below it" } else { "" };
    let outside = if effect.location.zone() == Zone::Outside { " (outside the workspace)" } else { "" };
    format!("{}{beneath}{outside}", effect.location.display())
}

/// The command, quoted for a shell.
fn command(exec: &Exec) -> String {
    let program = exec.program.to_string_lossy();
    std::iter::once(&*program).chain(exec.arguments.iter().map(String::as_str)).map(quote_word).collect::<Vec<_>>().join(" ")
}

fn show_exec_context(exec: &Exec, page: &mut TextBuilder) {
    let host = match exec.host {
        ExecHost::Host => "on this machine, without a sandbox",
        ExecHost::Sandbox => "on this machine, in a sandbox",
        ExecHost::Container => "in a container",
        ExecHost::Node => "on a paired machine",
        other => other.as_str(),
    };
    page.line(format_args!("           in {}, {host}", path_text(&exec.directory)));
    if !exec.environment.is_empty() {
        page.line(format_args!("           with {}", display::escape_line(&exec.environment.join(", "))));
    }
}

fn path_text(path: &Path) -> String {
    display::escape_line(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{CallInfo, Connect, Location, Plan};
    use serde_json::json;

    use super::*;

    const KEYS: &[KeyHint] = &[("y", ""), ("s", ""), ("a", ""), ("e", ""), ("n", ""), ("c", ""), ("?", "")];

    fn request(plan: &Plan, reason: &str) -> ApprovalRequest {
        let call = CallInfo { id: "1".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
        ApprovalRequest::new(call, json!({}), plan.effects().to_vec(), reason.into())
    }

    fn text(request: &ApprovalRequest, keys: &[KeyHint]) -> String {
        anstream::adapter::strip_str(&details(request, keys)).to_string()
    }

    #[test]
    fn details_show_every_effect_whole_with_nothing_hidden() {
        let long = "long ".repeat(1000);
        let mut exec = Exec::new("/bin/rm", vec!["-rf".into(), "x\u{202e}\ny".into(), long.clone(), String::new()], "/w\u{1b}[2J");
        exec.environment = vec!["LANG".into(), "PA\u{200b}TH".into()];
        let plan = Plan::nothing().exec(exec).send("mail", "a@example.org", true).send("desktop", "me", false);
        let mut request = request(&plan, "rule \u{1b}[2J");
        request.call.tool = "ex\u{202e}ec".into();
        request.call.agent = "ma\rin".into();
        request.arguments = json!({"command": "a\u{2066}b; rm -rf ~"});
        request.rules = Err("'rm' is never\u{7} allowed for good".into());
        let expected = format!(
            "ex\\u{{202e}}ec of agent ma\\rin would:\n  \
             exec     /bin/rm -rf 'x\\u{{202e}}\\ny' '{long}' ''\n           \
             in /w\\u{{1b}}[2J, on this machine, without a sandbox\n           \
             with LANG, PA\\u{{200b}}TH\n  \
             send     mail to a@example.org, off this machine\n  \
             send     desktop to me\n\
             With: {{\"command\":\"a\\u{{2066}}b; rm -rf ~\"}}\n\
             Asked because: rule \\u{{1b}}[2J\n\
             `haft explain ex\\u{{202e}}ec '{{\"command\":\"a\\u{{2066}}b; rm -rf ~\"}}'` shows every step.\n\
             [y] allows this call\n\
             \"Session\" and \"always\" are off because 'rm' is never\\u{{7}} allowed for good\n"
        );
        assert_eq!(text(&request, &[("y", "")]), expected);
    }

    #[test]
    fn details_say_how_far_paths_reach_and_what_keys_mean() {
        let at = |path: &str, zone| Location::new(path.into(), path.into(), path.into(), zone, Arc::new(()));
        let plan = Plan::nothing()
            .read_tree(at("src", Zone::Workspace))
            .delete(at("/etc/passwd", Zone::Outside))
            .connect(Connect::new("https", "example.org", 443, "POST"))
            .with(Effect::Unknown { why: "who knows".into() });
        let mut request = request(&plan, "why not");
        request.rules = Ok(vec!["exec(git push *)".into(), "write_file(a\u{202e}b)".into()]);
        request.time_limit = Some(std::time::Duration::from_mins(2));
        let expected = "exec of agent main would:\n  \
             read     src and everything below it\n  \
             delete   /etc/passwd (outside the workspace)\n  \
             connect  POST https://example.org:443\n  \
             unknown  who knows\n\
             Asked because: why not\n\
             `haft explain exec '{}'` shows every step.\n\
             [y] allows this call\n\
             [s] allows exec(git push *), write_file(a\\u{202e}b) until the session ends\n\
             [a] saves a rule: you choose how wide\n\
             [e] changes the arguments; the call is decided on again\n\
             [n] denies; so does Esc\n\
             [c] denies, and tells the model what you type\n\
             Without an answer within 120 s the call is denied.\n";
        assert_eq!(text(&request, KEYS), expected);
        request.effects.clear();
        request.arguments = json!({"content": "x".repeat(5_000)});
        let brief = text(&request, &[]);
        assert!(brief.contains("do something that it does not declare") && brief.contains("`haft explain exec '{…}'` shows"), "{brief}");
    }

    #[test]
    fn details_say_where_a_program_runs() {
        for (host, words) in [
            (ExecHost::Host, "on this machine, without a sandbox"),
            (ExecHost::Sandbox, "on this machine, in a sandbox"),
            (ExecHost::Container, "in a container"),
            (ExecHost::Node, "on a paired machine"),
        ] {
            let mut exec = Exec::new("/bin/true", Vec::new(), "/w");
            exec.host = host;
            let shown = text(&request(&Plan::nothing().exec(exec), "x"), &[]);
            assert!(shown.contains(&format!("  exec     /bin/true\n           in /w, {words}\n")), "{shown}");
        }
    }
}
