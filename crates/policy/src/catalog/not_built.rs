//! The tools of the design that are not built yet: policies may name them already. A tool that is built leaves this list.

use haft_contract::Section::{Media, Messaging, Ui};
use haft_contract::{Meta, RuleTarget, Section};

const CODING: &[&str] = &["coding"];

const fn tool(name: &'static str, section: Section, profiles: &'static [&'static str], rules: Option<RuleTarget>) -> Meta {
    let mut meta = Meta::new(name, "");
    (meta.section, meta.profiles, meta.rules) = (section, profiles, rules);
    meta
}

const fn for_owner(mut meta: Meta) -> Meta {
    meta.owner_only = true;
    meta
}

const READ: Option<RuleTarget> = Some(RuleTarget::Read);
const WRITE: Option<RuleTarget> = Some(RuleTarget::Write);

/// Name, section, profiles, rule target, aliases.
#[rustfmt::skip] // one tool a line
pub static NOT_BUILT_YET: &[Meta] = &[
    tool("canvas", Ui, &[], None),
    for_owner(tool("whatsapp_login", Messaging, &[], None)),
    tool("image", Media, CODING, READ),
    tool("tts", Media, &[], WRITE),
];
