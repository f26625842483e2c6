//! Which machine a text means: an id, a name, or the beginning of one.

use haft_contract::ToolError;
use haft_text::{display, suggest};

use crate::book::PairedNode;

/// A shorter beginning names nobody.
const PREFIX: usize = 6;
/// Machines that a message lists.
const LISTED: usize = 20;

/// Finds the machine; an empty text means the only one.
pub(crate) fn find<'a>(nodes: &'a [PairedNode], wanted: &str) -> Result<&'a PairedNode, ToolError> {
    let folded = wanted.trim().to_lowercase();
    if nodes.is_empty() {
        return Err(ToolError::validation(
            "No machine is paired. The user pairs one with `haft node pair` here and `haft node run` there; see docs/NODES.md.",
        ));
    }
    if folded.is_empty() {
        return match nodes {
            [only] => Ok(only),
            several => Err(ToolError::validation(format!("Several machines are paired: name one in 'node'. {}", list(several)))),
        };
    }
    if let Some(node) = nodes.iter().find(|node| node.id == folded || node.name == folded) {
        return Ok(node);
    }
    let begins = |node: &&PairedNode| node.id.starts_with(&folded) || node.name.starts_with(&folded);
    let found: Vec<&PairedNode> = if folded.chars().count() < PREFIX { Vec::new() } else { nodes.iter().filter(begins).collect() };
    match found[..] {
        [only] => Ok(only),
        [] => Err(unknown(nodes, wanted)),
        _ => {
            let several: Vec<PairedNode> = found.into_iter().cloned().collect();
            let shown = display::escape_line(&display::shorten(wanted, 60)).into_owned();
            Err(ToolError::validation(format!("Several machines begin with '{shown}'. {}", list(&several))))
        }
    }
}

fn unknown(nodes: &[PairedNode], wanted: &str) -> ToolError {
    let shown = display::escape_line(&display::shorten(wanted, 60)).into_owned();
    let near = suggest::nearest(&wanted.to_lowercase(), nodes.iter().map(|node| node.name.as_str()));
    let meant = near.first().map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default();
    ToolError::validation(format!("No machine '{shown}' is paired.{meant} A beginning needs {PREFIX} characters or more. {}", list(nodes)))
}

/// The machines by name and id.
fn list(nodes: &[PairedNode]) -> String {
    let named: Vec<String> = nodes.iter().take(LISTED).map(|node| format!("{} ({})", node.name, node.id)).collect();
    let more = if nodes.len() > LISTED { format!(" and {} more", nodes.len() - LISTED) } else { String::new() };
    format!("Paired: {}{more}.", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, name: &str) -> PairedNode {
        PairedNode { id: id.into(), name: name.into(), key: String::new(), paired_at: 0 }
    }

    #[test]
    fn machines_are_found_by_id_name_and_beginning() {
        let nodes = [node("aaaaaa1111111111", "workstation"), node("aaaaaa2222222222", "work"), node("bbbbbb3333333333", "worker-one")];
        let list = "Paired: workstation (aaaaaa1111111111), work (aaaaaa2222222222), worker-one (bbbbbb3333333333).";
        let unknown = |wanted: &str, meant: &str| {
            Err(format!("No machine '{wanted}' is paired.{meant} A beginning needs 6 characters or more. {list}"))
        };
        for (wanted, expected) in [
            ("work", Ok("work")),
            (" Work ", Ok("work")),
            ("WORKSTATION", Ok("workstation")),
            ("aaaaaa1", Ok("workstation")),
            ("bbbbbb", Ok("worker-one")),
            ("worksta", Ok("workstation")),
            (
                "aaaaaa",
                Err("Several machines begin with 'aaaaaa'. Paired: workstation (aaaaaa1111111111), work (aaaaaa2222222222).".into()),
            ),
            ("bbbbb", unknown("bbbbb", "")),
            ("wrok", unknown("wrok", " Did you mean 'work'?")),
            ("", Err(format!("Several machines are paired: name one in 'node'. {list}"))),
        ] {
            let found = find(&nodes, wanted).map(|node| node.name.as_str()).map_err(|error| error.message().to_owned());
            assert_eq!(found, expected, "{wanted:?}");
        }
        assert_eq!(find(&nodes[..1], "").unwrap().name, "workstation");
        assert!(find(&[], "x").unwrap_err().message().starts_with("No machine is paired."));
    }
}
