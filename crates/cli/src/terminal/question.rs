//! What a person reads before they answer: the whole of what would happen, never cut, with nothing hidden.

use std::path::Path;

use haft_contract::visible;
use haft_contract::{ApprovalRequest, Effect, Exec, ExecHost, Extent, PathEffect, Zone};

use crate::effects::quoted;
use crate::output::{CARE, STRONG};
use crate::page::Page;

/// Arguments up to here are repeated in a command.
const COPIED_BYTES: usize = 2_000;

/// The question. `rules_file` is where rules are saved that hold for good.
pub(super) fn question(request: &ApprovalRequest, rules_file: Option<&Path>) -> String {
    let mut page = Page::default();
    let (tool, agent) = (visible::line(&request.call.tool), visible::line(&request.call.agent));
    page.line(format_args!("\n{CARE}{tool}{CARE:#} of agent {agent} wants to run."));
    if request.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
        page.line(format_args!("With: {}", visible::line(&request.arguments.to_string())));
    }
    page.line(format_args!("Asked because: {}", visible::line(&request.reason)));
    show_lasting(request, rules_file, &mut page);
    // Last, right above the answer: the arguments are the model's and may be as long as it likes.
    page.line("It would:");
    if request.effects.is_empty() {
        page.line("  do something that it does not name");
    }
    for effect in &request.effects {
        show_effect(effect, &mut page);
    }
    page.finish()
}

/// What stands before the person who wants to know why they are asked, and what an answer means.
pub(super) fn why(request: &ApprovalRequest) -> String {
    let arguments = request.arguments.to_string();
    // A command that nobody can copy helps nobody.
    let arguments = if arguments.len() <= COPIED_BYTES { quoted(&arguments) } else { "'{…}'".to_owned() };
    let mut page = Page::default();
    page.line(format_args!("Asked because: {}", visible::line(&request.reason)));
    page.line(format_args!("haft explain {} {} shows every step.", visible::line(&request.call.tool), visible::line(&arguments)));
    page.line("y allows this one call; s allows what the rules above cover until the session ends; a saves them for good;");
    page.line("n refuses, and the words behind it go to the model.");
    page.finish()
}

/// What stands before the person when a rule is about to be saved.
pub(super) fn confirmation(rules: &[String], file: &Path) -> String {
    let mut page = Page::default();
    page.line(format_args!("This would be saved to {}:", shown_path(file)));
    show_rules(rules, &mut page);
    page.finish()
}

fn show_effect(effect: &Effect, page: &mut Page) {
    let target = match effect {
        Effect::Read(effect) | Effect::Write(effect) | Effect::Delete(effect) => path(effect),
        Effect::Exec(exec) => command(exec),
        Effect::Send { outward: true, .. } => format!("{}, off this machine", effect.target()),
        _ => effect.target(),
    };
    page.line(format_args!("  {STRONG}{:<8}{STRONG:#} {}", effect.kind(), visible::line(&target)));
    if let Effect::Exec(exec) = effect {
        circumstances(exec, page);
    }
}

fn path(effect: &PathEffect) -> String {
    let beneath = if effect.extent == Extent::Tree { " and all beneath it" } else { "" };
    let outside = if effect.location.zone() == Zone::Outside { " (outside the workspace)" } else { "" };
    format!("{}{beneath}{outside}", effect.location.display())
}

/// The words as a shell would need them: it must be seen where one ends.
fn command(exec: &Exec) -> String {
    let program = exec.program.to_string_lossy();
    std::iter::once(&*program).chain(exec.arguments.iter().map(String::as_str)).map(quoted).collect::<Vec<_>>().join(" ")
}

fn circumstances(exec: &Exec, page: &mut Page) {
    let host = match exec.host {
        ExecHost::Host => "on this machine, without a sandbox",
        ExecHost::Sandbox => "on this machine, in a sandbox",
        ExecHost::Container => "in a container",
        ExecHost::Node => "on a paired machine",
        other => other.as_str(),
    };
    page.line(format_args!("           in {}, {host}", shown_path(&exec.directory)));
    if !exec.environment.is_empty() {
        page.line(format_args!("           with {}", visible::line(&exec.environment.join(", "))));
    }
}

fn show_lasting(request: &ApprovalRequest, rules_file: Option<&Path>, page: &mut Page) {
    match (&request.lasting, rules_file) {
        (Ok(rules), Some(file)) => {
            page.line(format_args!("With s this holds until the session ends, with a it is saved to {}:", shown_path(file)));
            show_rules(rules, page);
        }
        (Ok(rules), None) => {
            page.line("With s this holds until the session ends:");
            show_rules(rules, page);
        }
        (Err(why), _) if why.is_empty() => {}
        (Err(why), _) => page.line(format_args!("It can be allowed this once only: {}", visible::line(why))),
    }
}

fn show_rules(rules: &[String], page: &mut Page) {
    for rule in rules {
        page.line(format_args!("  {STRONG}allow{STRONG:#} {}", visible::line(rule)));
    }
}

fn shown_path(path: &Path) -> String {
    visible::line(&path.to_string_lossy()).into_owned()
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

    fn shown(request: &ApprovalRequest, file: Option<&str>) -> String {
        anstream::adapter::strip_str(&question(request, file.map(Path::new))).to_string()
    }

    #[test]
    fn every_effect_is_shown_whole_and_nothing_hidden() {
        let long = "long ".repeat(1000);
        let mut exec = Exec::new("/bin/rm", vec!["-rf".into(), "x\u{202e}\ny".into(), long.clone(), String::new()], "/w\u{1b}[2J");
        exec.environment = vec!["LANG".into(), "PA\u{200b}TH".into()];
        let plan = Plan::nothing().exec(exec).send("mail", "a@example.org", true).send("desktop", "me", false);
        let mut request = request(&plan, "rule \u{1b}[2J");
        request.call.tool = "ex\u{202e}ec".into();
        request.call.agent = "ma\rin".into();
        request.arguments = json!({"command": "a\u{2066}b; rm -rf ~"});
        request.lasting = Err("'rm' is never\u{7} allowed for good".into());
        let expected = format!(
            "\nex\\u{{202e}}ec of agent ma\\rin wants to run.\n\
             With: {{\"command\":\"a\\u{{2066}}b; rm -rf ~\"}}\n\
             Asked because: rule \\u{{1b}}[2J\n\
             It can be allowed this once only: 'rm' is never\\u{{7}} allowed for good\n\
             It would:\n  \
             exec     /bin/rm -rf 'x\\u{{202e}}\\ny' '{long}' ''\n           \
             in /w\\u{{1b}}[2J, on this machine, without a sandbox\n           \
             with LANG, PA\\u{{200b}}TH\n  \
             send     mail to a@example.org, off this machine\n  \
             send     desktop to me\n"
        );
        assert_eq!(shown(&request, Some("/home/me/rules")), expected);
    }

    #[test]
    fn places_say_how_far_they_reach() {
        let at = |path: &str, zone| Location::new(path.into(), path.into(), path.into(), zone, Arc::new(()));
        let plan = Plan::nothing()
            .read_tree(at("src", Zone::Workspace))
            .write(at("a b", Zone::Workspace))
            .delete(at("/etc/passwd", Zone::Outside))
            .connect(Connect::new("https", "example.org", 443, "POST"))
            .with(Effect::Unknown { why: "who knows".into() });
        let expected = "\nexec of agent main wants to run.\nAsked because: why not\nIt would:\n  \
             read     src and all beneath it\n  \
             write    a b\n  \
             delete   /etc/passwd (outside the workspace)\n  \
             connect  POST https://example.org:443\n  \
             unknown  who knows\n";
        assert_eq!(shown(&request(&plan, "why not"), None), expected);
        let nothing = "\nexec of agent main wants to run.\nAsked because: why not\nIt would:\n  do something that it does not name\n";
        assert_eq!(shown(&request(&Plan::nothing(), "why not"), None), nothing);
    }

    #[test]
    fn the_rules_that_would_hold_are_shown_exactly() {
        let mut request = request(&Plan::nothing(), "why not");
        request.lasting = Ok(vec!["exec(git push *)".into(), "write_file(a\u{202e}b)".into()]);
        let before = "\nexec of agent main wants to run.\nAsked because: why not\n";
        let behind = "It would:\n  do something that it does not name\n";
        let rules = "  allow exec(git push *)\n  allow write_file(a\\u{202e}b)\n";
        assert_eq!(
            shown(&request, Some("/home/me/config.toml")),
            format!("{before}With s this holds until the session ends, with a it is saved to /home/me/config.toml:\n{rules}{behind}")
        );
        assert_eq!(shown(&request, None), format!("{before}With s this holds until the session ends:\n{rules}{behind}"));
        let confirmation = confirmation(&request.lasting.unwrap(), Path::new("/home/me/config.toml"));
        assert_eq!(
            anstream::adapter::strip_str(&confirmation).to_string(),
            format!("This would be saved to /home/me/config.toml:\n{rules}")
        );
    }

    #[test]
    fn whoever_wants_to_know_why_is_told_where_to_look() {
        let mut request = request(&Plan::nothing(), "rule 7\u{7}");
        request.arguments = json!({"path": "it's\u{202e}"});
        let keys = "y allows this one call; s allows what the rules above cover until the session ends; a saves them for good;\n\
                    n refuses, and the words behind it go to the model.\n";
        let command = "haft explain exec '{\"path\":\"it'\\''s\\u{202e}\"}' shows every step.\n";
        assert_eq!(why(&request), format!("Asked because: rule 7\\u{{7}}\n{command}{keys}"));
        request.arguments = json!({"content": "x".repeat(5_000)});
        assert_eq!(why(&request), format!("Asked because: rule 7\\u{{7}}\nhaft explain exec '{{…}}' shows every step.\n{keys}"));
    }

    #[test]
    fn where_a_program_runs_is_said() {
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
            assert_eq!(shown(&request(&Plan::nothing().exec(exec), "x"), None), expected);
        }
    }
}
