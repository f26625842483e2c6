//! What an approval is bound to: one hash of the tool, its arguments and its effects.

#[cfg(test)]
mod tests;

use std::path::Path;

use haft_contract::{Connect, Effect, Exec, Extent, PathEffect, Zone};
use haft_text::hex;
use haft_text::sha256::Sha256;
use serde_json::Value;

/// SHA-256 over a canonical form of the three, as hex. The order in which the arguments were written does not matter;
/// everything else does.
pub(crate) fn fingerprint(tool: &str, arguments: &Value, effects: &[Effect]) -> String {
    let mut form = CanonicalHasher(Sha256::default());
    form.text(tool);
    form.value(arguments);
    form.count(effects.len());
    for effect in effects {
        form.effect(effect);
    }
    form.finish()
}

/// Every part is preceded by its kind or its length, so that no two different forms read the same.
struct CanonicalHasher(Sha256);

impl CanonicalHasher {
    fn finish(self) -> String {
        hex::encode(self.0.finish())
    }

    fn count(&mut self, number: usize) {
        self.0.update(&(number as u64).to_be_bytes());
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }
    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
    /// As the system has it: two paths that are not UTF-8 must not look alike.
    fn path(&mut self, path: &Path) {
        self.bytes(path.as_os_str().as_encoded_bytes());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.text("null"),
            Value::Bool(truth) => self.text(if *truth { "true" } else { "false" }),
            Value::Number(number) => {
                self.text("number");
                self.text(&number.to_string());
            }
            Value::String(text) => {
                self.text("string");
                self.text(text);
            }
            Value::Array(items) => {
                self.text("array");
                self.count(items.len());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(map) => {
                self.text("object");
                self.count(map.len());
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                for (key, item) in entries {
                    self.text(key);
                    self.value(item);
                }
            }
        }
    }

    fn effect(&mut self, effect: &Effect) {
        self.text(effect.kind());
        // Also what this file does not know of yet, as far as history shows it. Strings and numbers only: it cannot fail.
        self.text(&serde_json::to_string(effect).unwrap_or_default());
        match effect {
            Effect::Read(effect) | Effect::Write(effect) | Effect::Delete(effect) => self.path_effect(effect),
            Effect::Exec(exec) => self.exec(exec),
            Effect::Connect(connect) => self.connect(connect),
            Effect::Send { outward, .. } => self.text(if *outward { "outward" } else { "here" }),
            _ => {}
        }
    }

    fn path_effect(&mut self, effect: &PathEffect) {
        self.path(effect.location.requested());
        self.path(effect.location.path());
        self.text(match effect.location.zone() {
            Zone::Workspace => "workspace",
            Zone::ReadOnlyRoot => "read-only root",
            Zone::Outside => "outside",
        });
        self.text(match effect.extent {
            Extent::File => "file",
            Extent::Tree => "tree",
        });
    }

    fn exec(&mut self, exec: &Exec) {
        self.path(&exec.program);
        self.text(&exec.named);
        self.texts(&exec.arguments);
        self.path(&exec.directory);
        self.texts(&exec.environment);
        self.text(exec.host.as_str());
        self.text(if exec.read_only_view { "read-only" } else { "" });
    }

    fn connect(&mut self, connect: &Connect) {
        self.text(&connect.scheme);
        self.text(&connect.host);
        self.count(usize::from(connect.port));
        self.text(&connect.method);
    }

    fn texts(&mut self, texts: &[String]) {
        self.count(texts.len());
        for text in texts {
            self.text(text);
        }
    }
}
