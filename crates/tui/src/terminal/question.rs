//! The text of an approval: every effect, never truncated, with hidden characters escaped.

use std::path::Path;

use haft_contract::{Effect, Exec, ExecHost, Extent, PathEffect, Zone, ports::ApprovalRequest};
use haft_text::display;

use crate::effects::quote_word;
use crate::output::{CAUTION, STRONG};
use crate::text_builder::TextBuilder;

/// Longer arguments are not repeated in a command.
const COPIED_BYTES: usize = 2_000;

/// The question. Persistent rules are saved in `rules_file`.
pub(super) fn question(request: &ApprovalRequest, rules_file: Option<&Path>) -> String {
    let mut page = TextBuilder::default();
    let (tool, agent) = (display::escape_line(&request.call.tool), display::escape_line(&request.call.agent));
    page.line(format_args!("\n{CAUTION}{tool}{CAUTION:#} of agent {agent} wants to run."));
    if request.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
        page.line(format_args!("With: {}", display::escape_line(&request.arguments.to_string())));
    }
    page.line(format_args!("Asked because: {}", display::escape_line(&request.reason)));
    show_rule_offer(request, rules_file, &mut page);
    // Last, right above the prompt: arguments may be long.
    page.line("It would:");
    if request.effects.is_empty() {
        page.line("  do something that it does not declare");
    }
    for effect in &request.effects {
        show_effect(effect, &mut page);
    }
    page.finish()
}

/// Why the user is asked, and what each answer means.
pub(super) fn why(request: &ApprovalRequest) -> String {
    let arguments = request.arguments.to_string();
    let arguments = if arguments.len() <= COPIED_BYTES { quote_word(&arguments) } else { "'{…}'".to_owned() };
    let mut page = TextBuilder::default();
    page.line(format_args!("Asked because: {}", display::escape_line(&request.reason)));
    page.line(format_args!(
        "haft explain {} {} shows every step.",
        display::escape_line(&request.call.tool),
        display::escape_line(&arguments)
    ));
    page.line("y allows this call; s allows what the rules above match until the session ends; a saves those rules;");
    page.line("n denies, and text after it is sent to the model.");
    page.finish()
}

/// Asks before a rule is saved.
pub(super) fn confirmation(rules: &[String], file: &Path) -> String {
    let mut page = TextBuilder::default();
    page.line(format_args!("This would be saved to {}:", path_text(file)));
    show_rules(rules, &mut page);
    page.finish()
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

fn show_rule_offer(request: &ApprovalRequest, rules_file: Option<&Path>, page: &mut TextBuilder) {
    match (&request.rules, rules_file) {
        (Ok(rules), Some(file)) => {
            page.line(format_args!("s allows this until the session ends, a saves it to {}:", path_text(file)));
            show_rules(rules, page);
        }
        (Ok(rules), None) => {
            page.line("s allows this until the session ends:");
            show_rules(rules, page);
        }
        (Err(why), _) if why.is_empty() => {}
        (Err(why), _) => page.line(format_args!("\"Session\" and \"always\" are off because {}", display::escape_line(why))),
    }
}

fn show_rules(rules: &[String], page: &mut TextBuilder) {
    for rule in rules {
        page.line(format_args!("  {STRONG}allow{STRONG:#} {}", display::escape_line(rule)));
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

    fn request(plan: &Plan, reason: &str) -> ApprovalRequest {
        let call = CallInfo { id: "1".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
        ApprovalRequest::new(call, json!({}), plan.effects().to_vec(), reason.into())
    }

    fn question_text(request: &ApprovalRequest, file: Option<&str>) -> String {
        anstream::adapter::strip_str(&question(request, file.map(Path::new))).to_string()
    }

    #[test]
    fn approval_shows_every_effect_whole_with_nothing_hidden() {
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
            "\nex\\u{{202e}}ec of agent ma\\rin wants to run.\n\
             With: {{\"command\":\"a\\u{{2066}}b; rm -rf ~\"}}\n\
             Asked because: rule \\u{{1b}}[2J\n\
             \"Session\" and \"always\" are off because 'rm' is never\\u{{7}} allowed for good\n\
             It would:\n  \
             exec     /bin/rm -rf 'x\\u{{202e}}\\ny' '{long}' ''\n           \
             in /w\\u{{1b}}[2J, on this machine, without a sandbox\n           \
             with LANG, PA\\u{{200b}}TH\n  \
             send     mail to a@example.org, off this machine\n  \
             send     desktop to me\n"
        );
        assert_eq!(question_text(&request, Some("/home/me/rules")), expected);
    }

    #[test]
    fn approval_says_how_far_paths_reach() {
        let at = |path: &str, zone| Location::new(path.into(), path.into(), path.into(), zone, Arc::new(()));
        let plan = Plan::nothing()
            .read_tree(at("src", Zone::Workspace))
            .write(at("a b", Zone::Workspace))
            .delete(at("/etc/passwd", Zone::Outside))
            .connect(Connect::new("https", "example.org", 443, "POST"))
            .with(Effect::Unknown { why: "who knows".into() });
        let expected = "\nexec of agent main wants to run.\nAsked because: why not\nIt would:\n  \
             read     src and everything below it\n  \
             write    a b\n  \
             delete   /etc/passwd (outside the workspace)\n  \
             connect  POST https://example.org:443\n  \
             unknown  who knows\n";
        assert_eq!(question_text(&request(&plan, "why not"), None), expected);
        let nothing = "\nexec of agent main wants to run.\nAsked because: why not\nIt would:\n  do something that it does not declare\n";
        assert_eq!(question_text(&request(&Plan::nothing(), "why not"), None), nothing);
    }

    #[test]
    fn approval_shows_the_exact_rules() {
        let mut request = request(&Plan::nothing(), "why not");
        request.rules = Ok(vec!["exec(git push *)".into(), "write_file(a\u{202e}b)".into()]);
        let before = "\nexec of agent main wants to run.\nAsked because: why not\n";
        let behind = "It would:\n  do something that it does not declare\n";
        let rules = "  allow exec(git push *)\n  allow write_file(a\\u{202e}b)\n";
        assert_eq!(
            question_text(&request, Some("/home/me/config.toml")),
            format!("{before}s allows this until the session ends, a saves it to /home/me/config.toml:\n{rules}{behind}")
        );
        assert_eq!(question_text(&request, None), format!("{before}s allows this until the session ends:\n{rules}{behind}"));
        let confirmation = confirmation(&request.rules.unwrap(), Path::new("/home/me/config.toml"));
        assert_eq!(
            anstream::adapter::strip_str(&confirmation).to_string(),
            format!("This would be saved to /home/me/config.toml:\n{rules}")
        );
    }

    #[test]
    fn approval_explains_why_on_request() {
        let mut request = request(&Plan::nothing(), "rule 7\u{7}");
        request.arguments = json!({"path": "it's\u{202e}"});
        let keys = "y allows this call; s allows what the rules above match until the session ends; a saves those rules;\n\
                    n denies, and text after it is sent to the model.\n";
        let command = "haft explain exec '{\"path\":\"it'\\''s\\u{202e}\"}' shows every step.\n";
        assert_eq!(why(&request), format!("Asked because: rule 7\\u{{7}}\n{command}{keys}"));
        request.arguments = json!({"content": "x".repeat(5_000)});
        assert_eq!(why(&request), format!("Asked because: rule 7\\u{{7}}\nhaft explain exec '{{…}}' shows every step.\n{keys}"));
    }

    #[test]
    fn approval_says_where_a_program_runs() {
        for (host, words) in [
            (ExecHost::Host, "on this machine, without a sandbox"),
            (ExecHost::Sandbox, "on this machine, in a sandbox"),
            (ExecHost::Container, "in a container"),
            (ExecHost::Node, "on a paired machine"),
        ] {
            let mut exec = Exec::new("/bin/true", Vec::new(), "/w");
            exec.host = host;
            let expected = format!(
                "\nexec of agent main wants to run.\nAsked because: x\nIt would:\n  exec     /bin/true\n           in /w, {words}\n"
            );
            assert_eq!(question_text(&request(&Plan::nothing().exec(exec), "x"), None), expected);
        }
    }
}
