//! The keys of `#[tool(...)]` on a struct or a function.

use syn::punctuated::Punctuated;
use syn::{Attribute, Error, ExprPath, Ident, LitStr, Meta, Result, Token};

use crate::value::{self, key, unknown_key};

/// The names of `haft::Section`, `Category` and `Access`. The contract is not a dependency of this crate, to build
/// beside it; the facade's tests compare.
const SECTIONS: &[&str] =
    &["Files", "Runtime", "Web", "Memory", "Sessions", "Ui", "Messaging", "Automation", "Nodes", "Agents", "Media", "Planning", "System"];
const CATEGORIES: &[&str] = &["Io", "Network", "System", "Notify"];
const ACCESS: &[&str] = &["ReadOnly", "WorkspaceWrite", "FullAccess"];

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
    "owner_only",
    "deferred",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
];
const FUNCTION_KEYS: &[&str] = &["plan"];

/// What was written, each key at most once.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of the attribute
pub(crate) struct Keys {
    pub(crate) name: Option<LitStr>,
    pub(crate) label: Option<LitStr>,
    pub(crate) section: Option<Ident>,
    pub(crate) category: Option<Ident>,
    pub(crate) access: Option<Ident>,
    pub(crate) timeout_secs: Option<u64>,
    pub(crate) max_output: Option<usize>,
    pub(crate) permissions: Option<Vec<LitStr>>,
    pub(crate) profiles: Option<Vec<LitStr>>,
    pub(crate) aliases: Option<Vec<LitStr>>,
    pub(crate) forms: Option<ExprPath>,
    pub(crate) owner_only: bool,
    pub(crate) deferred: bool,
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
    pub(crate) plan: Option<ExprPath>,
}

/// A list of entries, as it stands between the parentheses.
pub(crate) type Entries = Punctuated<Meta, Token![,]>;

/// The entries of every `#[tool(...)]` among `attributes`.
pub(crate) fn entries(attributes: &[Attribute]) -> Result<Vec<Meta>> {
    let mut entries = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("tool")) {
        entries.extend(attribute.parse_args_with(Entries::parse_terminated)?);
    }
    Ok(entries)
}

/// Reads each entry once with `read`; all faults come back together.
pub(crate) fn each_once(entries: &[Meta], mut read: impl FnMut(&Meta) -> Result<()>) -> Result<()> {
    let mut faults: Option<Error> = None;
    for (place, entry) in entries.iter().enumerate() {
        let name = key(entry).map(ToString::to_string);
        let outcome = match name {
            Ok(name) if entries[..place].iter().any(|earlier| earlier.path().is_ident(&name)) => {
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

impl Keys {
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
        match key(entry)?.to_string().as_str() {
            "name" => self.name = Some(value::text(entry, r#"name = "read_file""#)?),
            "label" => self.label = Some(value::text(entry, r#"label = "Read file""#)?),
            "section" => self.section = Some(value::variant(entry, "section = Files", SECTIONS)?),
            "category" => self.category = Some(value::variant(entry, "category = Io", CATEGORIES)?),
            "access" => self.access = Some(value::variant(entry, "access = ReadOnly", ACCESS)?),
            "timeout_secs" => self.timeout_secs = Some(value::positive(entry, "timeout_secs = 10")?),
            "max_output" => self.max_output = Some(value::positive(entry, "max_output = 1_000_000")?),
            "permissions" => self.permissions = Some(value::texts(entry, r#"permissions = ["camera"]"#)?),
            "profiles" => self.profiles = Some(value::texts(entry, r#"profiles = ["coding"]"#)?),
            "aliases" => self.aliases = Some(value::texts(entry, r#"aliases = ["read"]"#)?),
            "forms" => self.forms = Some(value::path(entry, "the name of a constant", "forms = FORMS")?),
            "owner_only" => self.owner_only = value::flag(entry)?,
            "deferred" => self.deferred = value::flag(entry)?,
            "read_only" => self.read_only = value::flag(entry)?,
            "destructive" => self.destructive = value::flag(entry)?,
            "idempotent" => self.idempotent = value::flag(entry)?,
            "open_world" => self.open_world = value::flag(entry)?,
            "plan" => self.plan = Some(value::path(entry, "the path of a function", "plan = path::to::function")?),
            _ => return Err(unknown_key(entry, known)),
        }
        Ok(())
    }
}
