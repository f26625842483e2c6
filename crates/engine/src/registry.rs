//! Which tools there are: names to tools, in a stable order.

mod defaults;
mod settings;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use haft_contract::schema::SchemaFault;
use haft_contract::{Dialect, DynTool, ToolDefinition, ToolSource};
use haft_text::suggest::nearest;
use serde_json::Value;
use tokio::sync::watch;

use haft_policy::{Candidate, folded, names};

pub use self::settings::ToolSettings;
use crate::forms::{CompiledForm, ToolForms};
use crate::stages::parameters::ParameterTable;
use crate::validator::Validator;

/// Why a tool was not registered.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name, an alias, or what a dialect calls it, is taken.
    Duplicate {
        /// Which name.
        name: String,
        /// Whose it is.
        owner: String,
    },
    /// The name is not snake_case, or an alias is no name.
    BadName {
        /// Which name.
        name: String,
    },
    /// The parameters break a rule that every provider relies on.
    BadSchema {
        /// Whose.
        tool: String,
        /// What is wrong, each with its path.
        faults: Vec<SchemaFault>,
    },
    /// A form names parameters that the tool does not have, or names what no provider takes.
    BadForm {
        /// Whose.
        tool: String,
        /// What is wrong, each with its path.
        faults: Vec<SchemaFault>,
    },
}

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Duplicate { name, owner } if name == owner => write!(f, "Tool '{name}' is already registered"),
            Self::Duplicate { name, owner } => write!(f, "Tool '{name}' is already registered: '{owner}' answers to it"),
            Self::BadName { name } => {
                write!(
                    f,
                    "'{name}' is not a tool name: use at most 64 of ASCII a-z, digits and '_', starting with a-z; an alias may also have A-Z, '-' and '.'"
                )
            }
            Self::BadSchema { tool, faults } => {
                write!(f, "Tool '{tool}' has parameters that not every provider takes:")?;
                faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
            }
            Self::BadForm { tool, faults } => {
                write!(f, "Tool '{tool}' has forms that do not fit it:")?;
                faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
            }
        }
    }
}

impl std::error::Error for RegisterError {}

/// A registered tool with what is derived from it once.
pub struct ToolEntry {
    tool: Arc<dyn DynTool>,
    definition: ToolDefinition,
    /// All its names in their folded spelling, the canonical one first.
    names: Vec<String>,
    forms: ToolForms,
    source: ToolSource,
    disabled: AtomicBool,
    /// The limit of its output, where it is set.
    output_bytes: Option<usize>,
    parameters: OnceLock<ParameterTable>,
    validator: OnceLock<Result<Validator, String>>,
}

haft_contract::opaque_debug!(ToolEntry: name = definition.name, source = source);

impl ToolEntry {
    /// The tool.
    pub fn tool(&self) -> &Arc<dyn DynTool> {
        &self.tool
    }
    /// What is known of it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }
    /// Where it came from.
    pub fn source(&self) -> &ToolSource {
        &self.source
    }
    /// The canonical name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
    /// Whether it is switched off for everyone.
    pub fn is_disabled(&self) -> bool {
        self.disabled.load(Ordering::Acquire)
    }
    /// The tool as a policy checks it.
    pub fn candidate(&self) -> Candidate<'_> {
        Candidate {
            definition: &self.definition,
            source: &self.source,
            names: Cow::Borrowed(&self.names),
            switched_off: self.is_disabled(),
        }
    }
    /// The limit of its output in bytes, where it is set.
    pub(crate) fn output_bytes(&self) -> Option<usize> {
        self.output_bytes
    }
    /// The form of the tool that a call by this name uses, if not the canonical one.
    pub(crate) fn called(&self, name: &str, dialect: Dialect) -> Option<&CompiledForm> {
        self.forms.called(name, self.name(), dialect)
    }
    pub(crate) fn parameters(&self) -> &ParameterTable {
        self.parameters.get_or_init(|| ParameterTable::new(&self.definition))
    }
    /// Compiles the schema now; says what is wrong with it.
    pub fn compile(&self) -> Result<(), &str> {
        self.validator().map(drop)
    }
    /// The compiled schema; compiled on first use, because a start should not pay for tools that are never called.
    pub(crate) fn validator(&self) -> Result<&Validator, &str> {
        let compile = || match (Validator::compile(&self.definition.parameters), &self.source) {
            // Its patterns may be none of ours; the server checks them itself.
            (Err(_), ToolSource::Mcp(_)) => Validator::compile(&without_patterns(&self.definition.parameters)),
            (compiled, _) => compiled,
        };
        self.validator.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}

/// A schema without its patterns. A property of that name is one of its parameters, and stays.
fn without_patterns(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let kept = map.iter().filter(|(key, _)| *key != "pattern").map(|(key, value)| {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(all)) => all.iter().map(|(name, property)| (name.clone(), without_patterns(property))).collect(),
            ("items" | "additionalProperties", value) => without_patterns(value),
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    kept.collect()
}

/// All tools of a program. Shared and changeable: every change bumps the version, so that listings can be refreshed.
#[derive(Debug, Default)]
pub struct Registry {
    state: RwLock<RegistryState>,
    version: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct RegistryState {
    entries: Vec<Arc<ToolEntry>>,
    /// Canonical names, aliases and names of forms → place in `entries`.
    names: HashMap<String, usize>,
    disabled: BTreeSet<String>,
    /// By any folded name of a tool.
    settings: BTreeMap<String, ToolSettings>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a tool. All its names must be free, the canonical one snake_case, its aliases names, its schema one that every
    /// provider takes, and its forms must fit its parameters.
    pub fn register(&self, tool: Arc<dyn DynTool>, source: ToolSource) -> Result<(), RegisterError> {
        let definition = checked(&*tool, &source)?;
        let mut state = self.write();
        let names = names(&definition);
        if let Some((name, place)) = names.iter().find_map(|name| state.names.get(name).map(|place| (name, *place))) {
            return Err(RegisterError::Duplicate { name: name.clone(), owner: state.entries[place].name().to_owned() });
        }
        state.add(tool, definition, source);
        self.version.send_modify(|version| *version += 1);
        Ok(())
    }

    /// Registers a tool in place of every tool that has one of its names; returns the names of those that are gone. Nothing changes
    /// if the tool is refused.
    pub fn replace(&self, tool: Arc<dyn DynTool>, source: ToolSource) -> Result<Vec<String>, RegisterError> {
        let definition = checked(&*tool, &source)?;
        let mut state = self.write();
        let taken: BTreeSet<usize> = names(&definition).iter().filter_map(|name| state.names.get(name).copied()).collect();
        let gone = taken.iter().map(|place| state.entries[*place].name().to_owned()).collect();
        let mut places = 0..;
        state.entries.retain(|_| !places.next().is_some_and(|place| taken.contains(&place)));
        // It stands where the first of them stood: lists keep their order.
        let place = taken.first().copied().unwrap_or(state.entries.len());
        let entry = Arc::new(state.entry(tool, definition, source));
        state.entries.insert(place, entry);
        state.index();
        self.version.send_modify(|version| *version += 1);
        Ok(gone)
    }

    /// Sets how a tool is run, whatever it says itself. Unknown names are kept: the tool may come later.
    pub fn set_settings(&self, name: &str, settings: ToolSettings) {
        let mut state = self.write();
        let name = folded(name);
        let known = state.names.get(&name).copied();
        let name = known.map_or(name, |place| state.entries[place].names[0].clone());
        state.settings.insert(name, settings);
        if let Some(place) = known {
            let (tool, source) = (Arc::clone(&state.entries[place].tool), state.entries[place].source.clone());
            // It was accepted once.
            if let Ok(definition) = checked(&*tool, &source) {
                state.entries[place] = Arc::new(state.entry(tool, definition, source));
            }
        }
        self.version.send_modify(|version| *version += 1);
    }

    /// Removes a tool by its canonical name; says whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        self.retain(|entry| entry.name() != name)
    }

    /// Removes every tool of a source, as when a plugin is reloaded; says whether there was any.
    pub fn unregister_source(&self, source: &ToolSource) -> bool {
        self.retain(|entry| entry.source() != source)
    }

    fn retain(&self, keep: impl Fn(&ToolEntry) -> bool) -> bool {
        let mut state = self.write();
        let before = state.entries.len();
        state.entries.retain(|entry| keep(entry));
        let changed = state.entries.len() != before;
        if changed {
            state.index();
            self.version.send_modify(|version| *version += 1);
        }
        changed
    }

    /// Switches a tool off for everyone, or on again. Unknown names are kept: the tool may come later.
    pub fn set_disabled(&self, name: &str, disabled: bool) {
        let mut state = self.write();
        let mut name = folded(name);
        if let Some(place) = state.names.get(&name) {
            let entry = &state.entries[*place];
            entry.disabled.store(disabled, Ordering::Release);
            entry.name().clone_into(&mut name);
        }
        let changed = if disabled { state.disabled.insert(name) } else { state.disabled.remove(&name) };
        if changed {
            self.version.send_modify(|version| *version += 1);
        }
    }

    /// Whether a tool is switched off for everyone.
    pub fn is_disabled(&self, name: &str) -> bool {
        let name = folded(name);
        let state = self.read();
        state.names.get(&name).map_or_else(|| state.disabled.contains(&name), |place| state.entries[*place].is_disabled())
    }

    /// The tool with this name or alias, forgiving blanks, case and hyphens.
    pub fn get(&self, name: &str) -> Option<Arc<ToolEntry>> {
        let state = self.read();
        let place = state.names.get(name).or_else(|| state.names.get(&folded(name)))?;
        Some(Arc::clone(&state.entries[*place]))
    }

    /// Whether there is a tool with this name or alias.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All tools in the order they were registered.
    pub fn entries(&self) -> Vec<Arc<ToolEntry>> {
        self.read().entries.clone()
    }

    /// All canonical names, in order.
    pub fn names(&self) -> Vec<String> {
        self.read().entries.iter().map(|entry| entry.name().to_owned()).collect()
    }

    /// The tools with these names, in this order; unknown names are ignored, repeated ones given once.
    pub fn view<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<Arc<ToolEntry>> {
        let state = self.read();
        let places = names.into_iter().filter_map(|name| state.names.get(name).or_else(|| state.names.get(&folded(name))));
        let mut seen = HashSet::new();
        places.filter(|place| seen.insert(**place)).map(|place| Arc::clone(&state.entries[*place])).collect()
    }

    /// Goes up with every change.
    pub fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Reports the version after every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Names that look like this one, best first.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        nearest(&folded(name), self.read().names.keys().map(String::as_str)).into_iter().map(str::to_owned).collect()
    }

    // A panic while the lock was held cannot leave the state half changed: entries and names are rebuilt together.
    fn read(&self) -> std::sync::RwLockReadGuard<'_, RegistryState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, RegistryState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegistryState {
    fn add(&mut self, tool: Arc<dyn DynTool>, definition: ToolDefinition, source: ToolSource) {
        let (place, entry) = (self.entries.len(), self.entry(tool, definition, source));
        self.names.extend(entry.names.iter().map(|name| (name.clone(), place)));
        self.entries.push(Arc::new(entry));
    }

    fn entry(&self, tool: Arc<dyn DynTool>, mut definition: ToolDefinition, source: ToolSource) -> ToolEntry {
        let names = names(&definition);
        let settings = names.iter().find_map(|name| self.settings.get(name)).cloned().unwrap_or_default();
        settings.apply(&mut definition);
        let disabled = AtomicBool::new(names.iter().any(|name| self.disabled.contains(name)));
        let (forms, output_bytes) = (ToolForms::new(&definition), settings.output_bytes);
        let (parameters, validator) = (OnceLock::new(), OnceLock::new());
        ToolEntry { tool, definition, names, forms, source, disabled, output_bytes, parameters, validator }
    }

    fn index(&mut self) {
        self.names.clear();
        for (place, entry) in self.entries.iter().enumerate() {
            self.names.extend(entry.names.iter().map(|name| (name.clone(), place)));
        }
    }
}

/// The definition of a tool, if it may be registered. The parameters of a typed tool that comes with Haft are not looked at: tests have
/// checked them, and a start should not make the schemas of tools that are never called.
fn checked(tool: &dyn DynTool, source: &ToolSource) -> Result<ToolDefinition, RegisterError> {
    let mut definition = tool.definition().clone();
    if let Some(name) = bad_name(&definition) {
        return Err(RegisterError::BadName { name });
    }
    if *source == ToolSource::BuiltIn && definition.parameters.is_of_type() {
        return Ok(definition);
    }
    check_parameters(&mut definition)?;
    Ok(definition)
}

fn check_parameters(definition: &mut ToolDefinition) -> Result<(), RegisterError> {
    let faults: Vec<SchemaFault> = definition.forms.iter().flat_map(|form| form.faults(&definition.parameters)).collect();
    if !faults.is_empty() {
        return Err(RegisterError::BadForm { tool: definition.name.to_string(), faults });
    }
    let faults = definition.parameters.lint().err().unwrap_or_else(|| defaults::faults(&definition.parameters));
    if !faults.is_empty() {
        return Err(RegisterError::BadSchema { tool: definition.name.to_string(), faults });
    }
    Ok(())
}

fn bad_name(definition: &ToolDefinition) -> Option<String> {
    let alias = || definition.aliases.iter().find(|alias| !is_alias(alias));
    if is_snake_case(&definition.name) { alias().map(ToString::to_string) } else { Some(definition.name.to_string()) }
}

/// Models and rules write aliases as they write names; other systems have capitals and dots in theirs.
fn is_alias(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        && name.len() <= 64
}

fn is_snake_case(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && name.len() <= 64
}

impl From<&ToolEntry> for Cow<'static, str> {
    fn from(entry: &ToolEntry) -> Self {
        entry.definition.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use haft_testkit::ScriptedTool;

    use super::*;

    #[test]
    fn a_schema_compiles_once_and_is_shared() {
        let registry = Registry::new();
        registry.register(ScriptedTool::new("a").shared(), ToolSource::BuiltIn).unwrap();
        let entry = registry.get("a").unwrap();
        assert!(entry.validator.get().is_none(), "a schema is compiled by the first call, not by registration");
        let first = std::ptr::from_ref(entry.validator().unwrap());
        let again = registry.get("A").unwrap();
        assert!(std::ptr::eq(first, again.validator().unwrap()) && Arc::ptr_eq(&entry, &again));
    }
}
