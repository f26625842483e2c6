//! `haft run --schema`: the result is JSON that fits a schema, and nothing else goes to standard output.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use haft_agent::{OutputSchema, Runner, TurnEvent, TurnWatcher, offered_tools};
use serde_json::Value;

use crate::failure::Failure;

/// The largest schema file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads and compiles the schema in a file.
pub(super) fn read(path: &Path) -> Result<Arc<OutputSchema>, Failure> {
    let failed = |why: String| {
        let message = format!("the schema '{}' cannot be used: {why}", path.display());
        Failure::usage(message)
            .help("write a JSON Schema, such as {\"type\": \"object\", \"properties\": {\"title\": {\"type\": \"string\"}}}")
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it is larger than {MAX_BYTES} bytes")));
    }
    let schema: Value = serde_json::from_str(&text).map_err(|error| failed(format!("it is not JSON: {error}")))?;
    OutputSchema::new(schema).map(Arc::new).map_err(failed)
}

/// Refuses a conversation whose model could not give the output.
pub(super) fn check(runner: &Runner, output: &OutputSchema) -> Result<(), Failure> {
    let model = runner.provider.model();
    output.check_for(model).map_err(|why| {
        let message = format!("{} cannot be offered the schema: {why}", model.name);
        Failure::usage(message).help("write it without what the model does not take, or use another model")
    })?;
    if offered_tools(&runner.engine, &runner.session).iter().any(|entry| entry.name() == "structured_output") {
        return Ok(());
    }
    Err(Failure::config("the configuration does not offer the tool structured_output").help("`haft explain structured_output` says why"))
}

/// Shows a turn without the text of the model, which is not its result.
pub(super) struct WithoutText(pub(super) Arc<dyn TurnWatcher>);

impl TurnWatcher for WithoutText {
    fn event(&self, event: &TurnEvent<'_>) {
        if !matches!(event, TurnEvent::Text(_)) {
            self.0.event(event);
        }
    }
}
