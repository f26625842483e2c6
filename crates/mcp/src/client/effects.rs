//! What a call of a server's tool will do, as far as that can be known.
//!
//! Annotations are hints of the server itself, and it may lie. They decide whether a call needs approval, because the user has chosen
//! the server; what is not said counts as the worst: it changes things, and reaches beyond this machine.

use haft_contract::{Access, Connect, Effect, Hints, Plan};
use rmcp::model::ToolAnnotations;

use super::settings::{HttpServer, ServerSandbox, ServerSettings, ServerTransport, StdioServer};

/// The scheme of a connection that a server on this machine makes in our stead.
pub(super) const SCHEME: &str = "mcp";
/// The method of a connection that only reads.
const READS: &str = "GET";

/// The effects of one tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolEffects {
    plan: Plan,
    pub(crate) access: Access,
    pub(crate) hints: Hints,
}

impl ToolEffects {
    pub(crate) fn new(server: &ServerSettings, annotations: Option<&ToolAnnotations>) -> Self {
        let hints = hints(annotations);
        let plan = plan(server, hints);
        let access = match &server.transport {
            _ if hints.read_only => Access::ReadOnly,
            ServerTransport::Stdio(StdioServer { sandbox: Some(sandbox), .. }) if sandbox.folders.is_empty() => Access::ReadOnly,
            ServerTransport::Stdio(StdioServer { sandbox: Some(_), .. }) => Access::WorkspaceWrite,
            _ => Access::FullAccess,
        };
        Self { plan, access, hints }
    }

    /// Those of reading a resource or a prompt, which the protocol says changes nothing.
    pub(crate) fn of_reading(server: &ServerSettings) -> Plan {
        plan(server, Hints { read_only: true, open_world: true, ..Hints::default() })
    }

    /// What a call will do.
    pub(crate) fn plan(&self) -> Plan {
        self.plan.clone()
    }
}

/// What the annotations say; the worst where they say nothing.
fn hints(annotations: Option<&ToolAnnotations>) -> Hints {
    let said = |hint: fn(&ToolAnnotations) -> Option<bool>| annotations.and_then(hint);
    let read_only = said(|all| all.read_only_hint).unwrap_or(false);
    Hints {
        read_only,
        destructive: !read_only && said(|all| all.destructive_hint).unwrap_or(true),
        idempotent: said(|all| all.idempotent_hint).unwrap_or(read_only),
        open_world: said(|all| all.open_world_hint).unwrap_or(true),
    }
}

fn plan(server: &ServerSettings, hints: Hints) -> Plan {
    let name = &server.name;
    match &server.transport {
        ServerTransport::Stdio(StdioServer { sandbox: Some(sandbox), .. }) => {
            let why = format!("the MCP server '{name}' does it");
            let plan = Plan::nothing().with(Effect::Contained { why, read_only: hints.read_only || sandbox.folders.is_empty() });
            if hints.open_world { with_hosts(plan, sandbox) } else { plan }
        }
        _ if !hints.read_only => {
            Plan::nothing().with(Effect::Unknown { why: format!("what the MCP server '{name}' does is not known before") })
        }
        // What is sent to another machine has left this one, whatever it does there.
        ServerTransport::Http(HttpServer { url, .. }) => Plan::nothing().connect(to_address(url, name)),
        ServerTransport::Stdio(_) if hints.open_world => Plan::nothing().connect(Connect::new(SCHEME, name.as_str(), 0, READS)),
        ServerTransport::Stdio(_) => Plan::nothing(),
    }
}

/// The user has named these hosts; data can still go there, which the guard against leaks must know.
fn with_hosts(plan: Plan, sandbox: &ServerSandbox) -> Plan {
    sandbox.hosts.iter().fold(plan, |plan, host| {
        let (host, port) = host.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?))).unwrap_or((host, 443));
        plan.connect(Connect::new("https", host, port, READS))
    })
}

fn to_address(url: &str, server: &str) -> Connect {
    let parsed = reqwest::Url::parse(url).ok();
    let host = parsed.as_ref().and_then(|url| url.host_str()).unwrap_or(server).to_owned();
    let port = parsed.as_ref().and_then(reqwest::Url::port_or_known_default).unwrap_or(443);
    let scheme = parsed.as_ref().map_or("https", |url| url.scheme()).to_owned();
    Connect::new(scheme, host, port, READS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(sandbox: Option<ServerSandbox>) -> ServerSettings {
        let server = StdioServer { program: "x".into(), arguments: vec![], environment: vec![], directory: "/".into(), sandbox };
        ServerSettings::new("hub", ServerTransport::Stdio(server))
    }

    fn http() -> ServerSettings {
        let server = HttpServer {
            url: "https://mcp.example.org/v1".into(),
            headers: vec![],
            token: None,
            oauth: crate::client::OAuthClient::default(),
        };
        ServerSettings::new("hub", ServerTransport::Http(server))
    }

    fn said(read_only: Option<bool>, open_world: Option<bool>) -> ToolAnnotations {
        ToolAnnotations::from_raw(None, read_only, None, None, open_world)
    }

    #[test]
    fn effects_follow_annotations_and_what_is_not_said_is_the_worst() {
        let boxed = || {
            stdio(Some(ServerSandbox { hosts: vec!["api.example.org".into(), "db.example.org:5432".into()], folders: vec!["/w".into()] }))
        };
        for (server, annotations, access, effects) in [
            (stdio(None), None, Access::FullAccess, vec!["unknown what the MCP server 'hub' does is not known before"]),
            (
                stdio(None),
                Some(said(None, Some(false))),
                Access::FullAccess,
                vec!["unknown what the MCP server 'hub' does is not known before"],
            ),
            (stdio(None), Some(said(Some(true), None)), Access::ReadOnly, vec!["connect GET mcp://hub:0"]),
            (stdio(None), Some(said(Some(true), Some(false))), Access::ReadOnly, vec![]),
            (http(), Some(said(Some(true), Some(false))), Access::ReadOnly, vec!["connect GET https://mcp.example.org:443"]),
            (http(), None, Access::FullAccess, vec!["unknown what the MCP server 'hub' does is not known before"]),
            (
                stdio(Some(ServerSandbox::default())),
                None,
                Access::ReadOnly,
                vec!["unknown it runs in the sandbox, and what it does there is not known before (the MCP server 'hub' does it)"],
            ),
            (
                boxed(),
                None,
                Access::WorkspaceWrite,
                vec![
                    "unknown it runs in the sandbox, and what it does there is not known before (the MCP server 'hub' does it)",
                    "connect GET https://api.example.org:443",
                    "connect GET https://db.example.org:5432",
                ],
            ),
        ] {
            let made = ToolEffects::new(&server, annotations.as_ref());
            let plan = made.plan();
            let shown: Vec<String> = plan.effects().iter().map(|effect| format!("{} {}", effect.kind(), effect.target())).collect();
            assert_eq!((made.access, shown), (access, effects.into_iter().map(str::to_owned).collect()), "{server:?} {annotations:?}");
        }
    }
}
