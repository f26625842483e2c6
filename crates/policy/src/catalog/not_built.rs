//! The tools of the design that are not built yet: policies may name them already. A tool that is built leaves this list.

use haft_contract::{Meta, Section};

const fn for_owner(name: &'static str, section: Section) -> Meta {
    let mut meta = Meta::new(name, "");
    (meta.section, meta.owner_only) = (section, true);
    meta
}

/// Names that a policy may hold although no tool has them.
pub static NOT_BUILT_YET: &[Meta] = &[for_owner("whatsapp_login", Section::Messaging)];
