//! The types of sub-agents that come with Haft.

use haft_contract::{Access, AgentType, ToolError};
use haft_text::suggest;

/// The type of a request that names none.
pub const GENERAL_PURPOSE: &str = "general-purpose";

const READING: &[&str] =
    &["read_file", "glob_search", "grep_search", "web_fetch", "web_search", "tool_search", "skill", "structured_output"];
const PLANNING: &[&str] = &["todo_write", "send_user_message"];
const CHECKING: &[&str] = &[
    "exec",
    "process",
    "read_file",
    "glob_search",
    "grep_search",
    "web_fetch",
    "web_search",
    "tool_search",
    "todo_write",
    "structured_output",
    "send_user_message",
    "powershell",
];

const REPORT: &str = "You work for another agent, which gets your last message and nothing else of your work. Do exactly what the task \
    says, without asking back. End with a complete answer: what you found or did, with file names and line numbers, and what is \
    unfinished.";

/// The types that come with Haft.
pub fn built_in_types() -> Vec<AgentType> {
    vec![
        built_in(
            GENERAL_PURPOSE,
            &["general", "default"],
            "Any task of several steps, with the tools of its parent.",
            "You are an agent with tools on the user's own machine.",
            None,
            None,
        ),
        built_in(
            "explore",
            &["explorer"],
            "Finds and reads: files, code, pages. Changes nothing.",
            "You search and read, and change nothing. Read what the question needs, not more.",
            Some(&[READING]),
            Some(Access::ReadOnly),
        ),
        built_in(
            "plan",
            &["planner"],
            "Reads, and writes a plan. Changes nothing.",
            "You read what is needed, and write a plan: steps in their order, each with the files it touches and how it is checked. \
             You change nothing.",
            Some(&[READING, PLANNING]),
            Some(Access::ReadOnly),
        ),
        built_in(
            "verification",
            &["verify", "verifier"],
            "Checks work: runs tests and commands, reads files. Edits nothing.",
            "You check the work of others. Run what proves or refutes it, and report what you saw: commands, results, exact errors. You \
             repair nothing.",
            Some(&[CHECKING]),
            None,
        ),
    ]
}

fn built_in(name: &str, aliases: &[&str], description: &str, prompt: &str, tools: Option<&[&[&str]]>, access: Option<Access>) -> AgentType {
    AgentType {
        name: name.to_owned(),
        aliases: aliases.iter().map(ToString::to_string).collect(),
        description: description.to_owned(),
        prompt: format!("{prompt} {REPORT}"),
        tools: tools.map(|tools| tools.concat().into_iter().map(str::to_owned).collect()),
        access,
        model: None,
        file: None,
    }
}

/// The type of this name; the error names those that exist.
pub fn find_type<'a>(types: &'a [AgentType], name: &str) -> Result<&'a AgentType, ToolError> {
    types.iter().find(|known| known.is_named(name.trim())).ok_or_else(|| {
        let names: Vec<&str> = types.iter().map(|known| known.name.as_str()).collect();
        let near = suggest::nearest(name, names.iter().copied());
        let meant = near.first().map(|near| format!(" Did you mean '{near}'?")).unwrap_or_default();
        ToolError::validation(format!("There is no agent type '{name}'.{meant} Types are: {}.", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_name_and_alias_in_any_case_and_others_are_refused() {
        let types = built_in_types();
        for (name, found) in [
            ("general-purpose", GENERAL_PURPOSE),
            ("General", GENERAL_PURPOSE),
            ("Explore", "explore"),
            ("explorer", "explore"),
            (" Plan ", "plan"),
            ("verifier", "verification"),
        ] {
            assert_eq!(find_type(&types, name).unwrap().name, found, "{name}");
        }
        let error = find_type(&types, "explorre").unwrap_err();
        let expected =
            "There is no agent type 'explorre'. Did you mean 'explore'? Types are: general-purpose, explore, plan, verification.";
        assert_eq!(error.message(), expected);
    }

    #[test]
    fn types_that_change_nothing_have_no_tool_that_changes() {
        for name in ["explore", "plan"] {
            let types = built_in_types();
            let found = find_type(&types, name).unwrap();
            assert_eq!(found.access, Some(Access::ReadOnly));
            let changes = |tool: &String| matches!(tool.as_str(), "exec" | "write_file" | "edit_file" | "apply_patch" | "agent");
            assert!(!found.tools.as_ref().unwrap().iter().any(changes));
        }
    }
}
