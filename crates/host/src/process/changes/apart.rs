//! Which lines have their changes kept apart.

use haft_contract::{Changes, ErrorKind, ExecHost, Line, LineRequest, Takes, ToolError};

/// The same line, with what becomes of its changes. What has to be kept apart and cannot be is refused.
pub(in super::super) fn kept_apart(line: Line, request: &LineRequest, configured: Changes) -> Result<Line, ToolError> {
    let host = line.shell().host;
    let changes = match request.dry_run {
        true => Changes::Review,
        false if host.is_walled() => configured,
        false => Changes::Direct,
    };
    let why = match (changes, host, &request.program) {
        (Changes::Direct, ..) => return Ok(line),
        (_, ExecHost::Sandbox, Some(program)) if program.takes == Takes::Input => {
            "this program goes on between calls, and never comes to an end"
        }
        (_, ExecHost::Sandbox, _) => return Ok(line.with_changes(changes)),
        (_, ExecHost::Container, _) => "it would run in a container",
        _ => "it would run outside the sandbox",
    };
    Err(ToolError::new(
        ErrorKind::SandboxUnavailable,
        format!(
            "The command was not run: its changes are to be kept apart (dry_run, or exec.changes = \"{}\"), which the sandbox alone can do, \
             and {why}. Use exec without 'host', with the sandbox on (sandbox.backend = \"bubblewrap\"); or run it without dry_run.",
            changes.as_str()
        ),
    ))
}
