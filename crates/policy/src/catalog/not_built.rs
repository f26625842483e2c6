//! The tools of the design that are not built yet: policies may name them already. A tool that is built leaves this list.

use haft_contract::Section::{Agents, Automation, Media, Memory, Messaging, Nodes, Planning, Sessions, Ui};
use haft_contract::{Meta, RuleTarget, Section};

const CODING: &[&str] = &["coding"];
const MESSAGING: &[&str] = &["messaging"];
const BOTH: &[&str] = &["coding", "messaging"];
const ALL_THREE: &[&str] = &["minimal", "coding", "messaging"];

const fn tool(name: &'static str, section: Section, profiles: &'static [&'static str], rules: Option<RuleTarget>) -> Meta {
    let mut meta = Meta::new(name, "");
    (meta.section, meta.profiles, meta.rules) = (section, profiles, rules);
    meta
}

const fn also(mut meta: Meta, aliases: &'static [&'static str]) -> Meta {
    meta.aliases = aliases;
    meta
}

const fn for_owner(mut meta: Meta) -> Meta {
    meta.owner_only = true;
    meta
}

const READ: Option<RuleTarget> = Some(RuleTarget::Read);
const WRITE: Option<RuleTarget> = Some(RuleTarget::Write);
const CONNECT: Option<RuleTarget> = Some(RuleTarget::Connect);
const SEND: Option<RuleTarget> = Some(RuleTarget::Send);
const SPAWN: Option<RuleTarget> = Some(RuleTarget::Spawn);
const CONFIGURE: Option<RuleTarget> = Some(RuleTarget::Configure);

/// Name, section, profiles, rule target, aliases.
#[rustfmt::skip] // one tool a line
pub static NOT_BUILT_YET: &[Meta] = &[
    tool("memory_search", Memory, CODING, None),
    tool("memory_get", Memory, CODING, READ),
    tool("sessions_list", Sessions, BOTH, None),
    tool("sessions_history", Sessions, BOTH, None),
    tool("sessions_send", Sessions, BOTH, SEND),
    tool("sessions_spawn", Sessions, CODING, SPAWN),
    tool("subagents", Sessions, CODING, SPAWN),
    tool("session_status", Sessions, ALL_THREE, None),
    also(tool("agent", Sessions, CODING, SPAWN), &["Agent"]),
    tool("browser", Ui, &[], CONNECT),
    tool("canvas", Ui, &[], None),
    tool("message", Messaging, MESSAGING, SEND),
    also(tool("send_user_message", Messaging, BOTH, SEND), &["SendUserMessage"]),
    for_owner(tool("whatsapp_login", Messaging, &[], None)),
    for_owner(tool("cron", Automation, &[], None)),
    for_owner(tool("gateway", Automation, &[], CONFIGURE)),
    tool("nodes", Nodes, &[], None),
    tool("agents_list", Agents, &[], None),
    tool("image", Media, CODING, READ),
    tool("tts", Media, &[], WRITE),
    also(tool("todo_write", Planning, CODING, WRITE), &["TodoWrite"]),
    also(tool("skill", Planning, CODING, None), &["Skill"]),
    also(tool("structured_output", Planning, CODING, None), &["StructuredOutput"]),
    also(tool("sleep", Planning, CODING, None), &["Sleep"]),
    also(tool("config", Planning, &[], CONFIGURE), &["Config"]),
];
