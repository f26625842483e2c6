use std::sync::Arc;

use haft_contract::{CallInfo, Exec, Location, Plan, ports::GrantWidth};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::*;

const FILE: &str = "/home/ann/.config/haft/config.toml";

fn request(tool: &str, arguments: Value, plan: &Plan, reason: &str) -> ApprovalRequest {
    let call = CallInfo { id: "1".into(), tool: tool.into(), session: "s".into(), agent: "main".into() };
    let mut request = ApprovalRequest::new(call, arguments, plan.effects().to_vec(), reason.into());
    request.rules = Ok(vec!["x".into()]);
    request
}

fn width(name: &str, rule: &str, past: &[&str], calls: usize) -> GrantWidth {
    let mut width = GrantWidth::new(name, vec![rule.to_owned()]);
    (width.past, width.past_calls) = (past.iter().map(|&call| call.to_owned()).collect(), calls);
    width
}

/// A command that a rule asks about.
fn command() -> ApprovalRequest {
    let mut exec = Exec::new("/usr/bin/npm", vec!["publish".into(), "--access".into(), "public".into()], "/home/ann/work");
    exec.named = "npm".into();
    let arguments = json!({"command": "npm publish --access public && git push --tags origin main", "timeout": 60});
    let mut request = request("exec", arguments, &Plan::nothing().exec(exec), "the rule 'ask exec(npm publish *)' (config.toml:7)");
    request.widths = vec![
        width("exactly this", "exec(npm publish --access public)", &[], 0),
        width("this subcommand", "exec(npm publish *)", &["npm publish --dry-run"], 1),
        width("this program", "exec(npm *)", &["npm publish --dry-run", "npm test", "npm ci"], 14),
    ];
    request
}

/// A change of a file.
fn change(path: &Path) -> ApprovalRequest {
    std::fs::write(path, "buy an axe\ncut the wood\n").unwrap();
    let at = Location::new(path.into(), path.into(), "notes.txt".into(), Zone::Workspace, Arc::new(()));
    let arguments = json!({"path": "notes.txt", "content": "buy an axe\nsharpen the axe\ncut the wood\n"});
    let reason = "every change is asked about (ask = \"changes\"): write (config.toml:1)";
    request("write_file", arguments, &Plan::nothing().write(at), reason)
}

/// A connection of a running command.
fn connection_of_command() -> ApprovalRequest {
    let plan = Plan::egress(Connect::tunnel("registry.npmjs.org", 443));
    request("exec", json!({"command": "npm ci"}), &plan, "npm wants registry.npmjs.org:443")
}

fn screen(request: &ApprovalRequest, columns: usize) -> ApprovalScreen<'_> {
    ApprovalScreen { request, rules_file: Some(Path::new(FILE)), columns }
}

/// The text without styles, whose lines are no longer than the terminal.
fn fitting(text: &str, columns: usize) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    for line in text.lines() {
        assert!(line.width() <= columns, "{} > {columns}: {line}", line.width());
    }
    text
}

fn drawn(request: &ApprovalRequest, columns: usize) -> String {
    fitting(&screen(request, columns).render(), columns)
}

#[test]
fn approval_screen_is_what_why_and_keys_at_every_width() {
    let folder = tempfile::tempdir().unwrap();
    let [command, change] = [command(), change(&folder.path().join("notes.txt"))];
    for columns in [40, 80, 120] {
        let screens = [
            drawn(&command, columns),
            drawn(&change, columns),
            drawn(&connection_of_command(), columns),
            fitting(&screen(&command, columns).render_widths(Path::new(FILE)), columns),
        ];
        insta::assert_snapshot!(format!("approval_{columns}"), screens.join("--\n"));
    }
}

#[test]
fn approval_screen_hides_nothing_of_a_command_and_shortens_the_rest() {
    let long = format!("cat <<'X'\n{}\u{202e}\nX", "data  ".repeat(60));
    let mut request = command();
    request.arguments = json!({"command": long, "env": {"A": "b".repeat(500)}});
    request.call.agent = "docs".into();
    request.edit_fault = Some("Missing required parameter: 'command'".into());
    let text = drawn(&request, 40);
    let joined: String = text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    assert!(joined.contains(&"data  ".repeat(60)) && joined.contains("\\u{202e}"), "{text}");
    assert!(text.starts_with("\nexec (agent docs): cat <<'X'\n  data  "), "{text}");
    assert!(text.contains("  … ? shows the rest\n") && text.contains("\nnot accepted: Missing required"), "{text}");
}

#[test]
fn approval_screen_cuts_a_long_diff_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = change(&folder.path().join("notes.txt"));
    request.arguments["content"] = json!("line\n".repeat(100));
    let text = drawn(&request, 80);
    assert!(text.contains("  … 89 more lines; ? shows them\nwhy: "), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("  +") || line.starts_with("  -")).count(), DIFF_LINES - 1);
}

/// The picture in the documents is of this screen: `docs/internal/chat_svg.py` draws it.
#[test]
fn approval_picture_shows_the_screen_as_it_is() {
    let picture = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/approval.svg")).unwrap();
    let rows = picture.lines().filter(|line| line.starts_with("<text ")).map(|line| {
        let text: String = line.split('>').filter_map(|part| part.split_once('<')).map(|(text, _)| text).collect();
        text.replace("&#x27;", "'").replace("&quot;", "\"")
    });
    let rows: Vec<String> = rows.collect();
    let folder = tempfile::tempdir().unwrap();
    let mut request = change(&folder.path().join("notes.txt"));
    request.widths = vec![width("this file", "x", &[], 0)];
    let drawn = drawn(&request, 80);
    let keys = drawn.lines().last().unwrap();
    assert!(rows.iter().any(|row| row == keys), "draw it again: {keys:?} is not in {rows:?}");
    for part in
        ["write_file: write docs/notes.txt", "why: every change is asked about", "[1] this file: write_file(/home/ann/work/docs/notes.txt)"]
    {
        assert!(rows.iter().any(|row| row.starts_with(part)), "{part}: {rows:?}");
    }
}
