//! The keys of `#[tool(...)]` on a struct or a function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, ExprPath, Ident, LitStr, Meta, Result, Token};

use crate::value::{self, key, unknown_key};

/// The names of `haft::Section`, `Category`, `Access` and `RuleTarget`. The contract is not a dependency of this crate, to build
/// beside it; the facade's tests compare.
const SECTIONS: &[&str] =
    &["Files", "Runtime", "Web", "Memory", "Sessions", "Ui", "Messaging", "Automation", "Nodes", "Agents", "Media", "Planning", "System"];
const CATEGORIES: &[&str] = &["Io", "Network", "System", "Notify"];
const ACCESS: &[&str] = &["ReadOnly", "WorkspaceWrite", "FullAccess"];
const RULE_TARGETS: &[&str] = &["Read", "Write", "Edit", "Exec", "Connect", "Send", "Spawn", "Configure", "Node"];

const KEYS: &[&str] = &[
    "name",
    "label",
    "section",
    "category",
    "access",
    "timeout_secs",
    "max_output",
    "permissions",
    "profiles",
    "aliases",
    "forms",
    "rules",
    "owner_only",
    "deferred",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
];
const FUNCTION_KEYS: &[&str] = &["plan"];

/// The keys of one tool, each at most once.
#[derive(Default)]
pub(crate) struct ToolKeys {
    pub(crate) name: Option<LitStr>,
    pub(crate) label: Option<LitStr>,
    pub(crate) plan: Option<ExprPath>,
    /// Assignments to fields of `Meta`: `section = ::haft::Section::Files`.
    pub(crate) assignments: Vec<TokenStream>,
}

/// The entries between the parentheses.
pub(crate) type KeyEntries = Punctuated<Meta, Token![,]>;

/// The entries of every `#[tool(...)]` among `attributes`.
pub(crate) fn entries(attributes: &[Attribute]) -> Result<Vec<Meta>> {
    let mut entries = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("tool")) {
        entries.extend(attribute.parse_args_with(KeyEntries::parse_terminated)?);
    }
    Ok(entries)
}

/// Reads each entry once with `read`; all faults come back together.
pub(crate) fn each_once(entries: &[Meta], mut read: impl FnMut(&Meta) -> Result<()>) -> Result<()> {
    let mut faults: Option<Error> = None;
    for (index, entry) in entries.iter().enumerate() {
        let name = key(entry).map(ToString::to_string);
        let outcome = match name {
            Ok(name) if entries[..index].iter().any(|earlier| earlier.path().is_ident(&name)) => {
                Err(Error::new_spanned(entry.path(), format!("`{name}` is given twice\n\nhelp: keep one of them")))
            }
            _ => read(entry),
        };
        if let Err(fault) = outcome {
            match &mut faults {
                Some(faults) => faults.combine(fault),
                None => faults = Some(fault),
            }
        }
    }
    faults.map_or(Ok(()), Err)
}

impl ToolKeys {
    /// The keys of a struct.
    pub(crate) fn of_struct(entries: &[Meta]) -> Result<Self> {
        let mut keys = Self::default();
        each_once(entries, |entry| {
            if entry.path().is_ident("plan") {
                return Err(Error::new_spanned(
                    entry.path(),
                    "`plan` is a key of functions\n\nhelp: a struct has `fn plan` in its `impl Tool`",
                ));
            }
            keys.read(entry, KEYS)
        })?;
        Ok(keys)
    }

    /// The keys of a function.
    pub(crate) fn of_function(entries: &[Meta]) -> Result<Self> {
        let mut keys = Self::default();
        let known = [KEYS, FUNCTION_KEYS].concat();
        each_once(entries, |entry| keys.read(entry, &known))?;
        Ok(keys)
    }

    fn read(&mut self, entry: &Meta, known: &[&str]) -> Result<()> {
        let key = key(entry)?;
        let assignment = match key.to_string().as_str() {
            "name" => {
                self.name = Some(value::text(entry, r#"name = "read_file""#)?);
                return Ok(());
            }
            "label" => {
                self.label = Some(value::text(entry, r#"label = "Read file""#)?);
                return Ok(());
            }
            "plan" => {
                self.plan = Some(value::path(entry, "the path of a function", "plan = path::to::function")?);
                return Ok(());
            }
            "section" => {
                let section = value::variant(entry, "section = Files", SECTIONS)?;
                quote!(section = ::haft::Section::#section)
            }
            "category" => {
                let category = value::variant(entry, "category = Io", CATEGORIES)?;
                quote!(category = ::haft::Category::#category)
            }
            "access" => {
                let access = value::variant(entry, "access = ReadOnly", ACCESS)?;
                quote!(access = ::haft::Access::#access)
            }
            "rules" => {
                let target = value::variant(entry, "rules = Read", RULE_TARGETS)?;
                quote!(rules = ::core::option::Option::Some(::haft::RuleTarget::#target))
            }
            "timeout_secs" => {
                let seconds: u64 = value::positive(entry, "timeout_secs = 10")?;
                quote!(timeout = ::haft::private::Duration::from_secs(#seconds))
            }
            "max_output" => {
                let bytes: usize = value::positive(entry, "max_output = 1_000_000")?;
                quote!(max_output = #bytes)
            }
            "permissions" => list(key, &value::texts(entry, r#"permissions = ["camera"]"#)?),
            "profiles" => list(key, &value::texts(entry, r#"profiles = ["coding"]"#)?),
            "aliases" => list(key, &value::texts(entry, r#"aliases = ["read"]"#)?),
            "forms" => {
                let forms = value::path(entry, "the name of a constant", "forms = FORMS")?;
                quote!(forms = #forms)
            }
            "owner_only" | "deferred" => {
                let flag = value::flag(entry)?;
                quote!(#key = #flag)
            }
            "read_only" | "destructive" | "idempotent" | "open_world" => {
                let flag = value::flag(entry)?;
                quote!(hints.#key = #flag)
            }
            _ => return Err(unknown_key(entry, known)),
        };
        self.assignments.push(assignment);
        Ok(())
    }
}

fn list(key: &Ident, texts: &[LitStr]) -> TokenStream {
    quote!(#key = &[#(#texts),*])
}
