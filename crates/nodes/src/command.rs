//! The effects of a shell command on a node, as far as its text tells: the node finds the same when it plans the command itself.

use std::path::{Path, PathBuf};

use haft_contract::{CommandRequest, Effect, Exec, ExecHost, ToolError, ports::NodeSummary};
use haft_shell::{Analysis, Command, Directory, Target, Verdict, Word, analyse};
use haft_text::display;
use haft_text::paths::lexical;

use crate::claims::EXEC;

/// Characters of the command that the effect on the node shows. Its programs are effects of their own, whole.
const SHOWN: usize = 200;

/// What a command does on a node: the command as such, its programs, its files, and what is not known of it.
pub(crate) fn effects(node: &NodeSummary, request: &CommandRequest) -> Result<Vec<Effect>, ToolError> {
    check(request)?;
    let analysis = analyse(&request.command);
    if let Some(reason) = &analysis.refused {
        return Err(ToolError::denied(format!("The command was refused: {}", display::escape_line(&reason.message))));
    }
    let directory = request.directory.clone().unwrap_or_default();
    let on_node = |action: &str, target: String| Effect::Node { node: node.name.clone(), action: action.to_owned(), target };
    let mut effects = vec![on_node(EXEC, display::shorten(&request.command, SHOWN).into_owned())];
    effects.extend(programs(&analysis, &directory).into_iter().map(Effect::Exec));
    if request.directory.is_some() {
        effects.push(on_node("read", node.path(&directory.to_string_lossy())));
    }
    let base = match &analysis.directory {
        Directory::Changed(path) => directory.join(path),
        _ => directory,
    };
    let path = |target: &Target| node.path(&lexical(&base.join(&target.path)).to_string_lossy());
    effects.extend(analysis.reads.iter().filter(|target| target.exact).map(|target| on_node("read", path(target))));
    for target in analysis.writes.iter().filter(|target| target.exact) {
        let action = if analysis.deletes.contains(target) { "delete" } else { "write" };
        effects.push(on_node(action, path(target)));
    }
    if analysis.verdict() != Verdict::Followed {
        let why = analysis.unknown.iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>().join("; ");
        effects.push(Effect::Unknown { why });
    }
    Ok(effects)
}

/// Refuses what a node cannot do.
fn check(request: &CommandRequest) -> Result<(), ToolError> {
    let refused = [
        (request.command.trim().is_empty(), "Provide a command to run: 'command' is empty."),
        (request.background, "A command on a node ends with its call: leave 'background' out, or start it there as a service."),
        (request.dry_run, "A node has no dry run: leave 'dry_run' out, or run the command in the sandbox of this machine."),
        (!request.allow_hosts.is_empty(), "The node decides on its own network: leave 'allow_host' out."),
    ];
    match refused.iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(ToolError::validation(*why)),
        None => Ok(()),
    }
}

fn programs(analysis: &Analysis, directory: &Path) -> Vec<Exec> {
    let mut programs: Vec<Exec> = analysis.commands.iter().flat_map(|command| program(command, directory)).collect();
    if analysis.unclear {
        let mut shell = new_exec("bash", vec!["-c".into(), "…".into()], directory);
        shell.reach.is_any = true;
        programs.push(shell);
    }
    programs
}

/// A program, and git as such where a part of it is called by its own name.
fn program(command: &Command, directory: &Path) -> Vec<Exec> {
    let arguments = texts(&command.arguments);
    let mut exec = new_exec(command.program.text(), arguments.clone(), directory);
    exec.environment = command.assignments.iter().map(|assignment| assignment.name.clone()).collect();
    exec.reach.wrappers = command.reach.wrappers.iter().map(|words| texts(words)).collect();
    exec.reach.commands = command.reach.commands.iter().map(|words| texts(words)).collect();
    exec.reach.is_any = command.reach.is_any;
    let part = command.name().and_then(|name| name.strip_prefix("git-")).filter(|part| !part.is_empty());
    let whole = part.map(|part| new_exec("git", std::iter::once(part.to_owned()).chain(arguments).collect(), directory));
    std::iter::once(exec).chain(whole).collect()
}

/// The file of the program is the node's to find.
fn new_exec(name: &str, arguments: Vec<String>, directory: &Path) -> Exec {
    let mut exec = Exec::new(PathBuf::from(name), arguments, directory);
    exec.host = ExecHost::Node;
    exec
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.text().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(command: &str, directory: Option<&str>) -> Result<Value, String> {
        let node = NodeSummary { name: "laptop".into(), ..NodeSummary::default() };
        let request = CommandRequest { command: command.into(), directory: directory.map(PathBuf::from), ..CommandRequest::default() };
        let effects = effects(&node, &request).map_err(|error| error.message().to_owned())?;
        Ok(serde_json::to_value(effects).unwrap())
    }

    #[test]
    fn programs_files_and_the_unknown_are_effects() {
        let node = |action: &str, target: &str| json!({"effect": "node", "node": "laptop", "action": action, "target": target});
        let exec = |program: &str, arguments: &[&str], directory: &str| json!({"effect": "exec", "program": program, "arguments": arguments, "directory": directory, "host": "node"});
        let line = "cat notes/a.txt > ../b.txt";
        let expected = json!([
            node("exec", line),
            exec("cat", &["notes/a.txt"], "sub"),
            node("read", "sub"),
            node("read", "sub/notes/a.txt"),
            node("write", "b.txt"),
        ]);
        assert_eq!(of(line, Some("sub")), Ok(expected));
        let unknown = of("$X --flag", None).unwrap();
        assert!(unknown.as_array().unwrap().iter().any(|effect| effect["effect"] == "unknown"), "{unknown}");
    }

    #[test]
    fn what_a_node_cannot_do_is_refused() {
        assert_eq!(of(" ", None), Err("Provide a command to run: 'command' is empty.".into()));
    }
}
