//! Plugins as they are now: ready, or withheld because they are not what the user has looked at.

use std::path::Path;
use std::sync::Arc;

use haft_contract::DynTool;

use crate::tool::{PluginProgram, PluginTool};
use crate::withheld::WithheldTool;
use crate::{PluginFault, PluginFiles, PluginManifest, PluginOrigin, PluginRecord, PluginStore};

/// A plugin that the user has looked at, and whether it is still the same.
#[derive(Debug)]
pub struct InstalledPlugin {
    /// What the user has looked at.
    pub record: PluginRecord,
    /// Its manifest, or why it does not run.
    pub state: Result<PluginManifest, PluginFault>,
    program: Option<Arc<PluginProgram>>,
    #[cfg(feature = "wasm")]
    code: Arc<crate::component::ComponentCode>,
}

impl PluginStore {
    /// The plugins that count in a workspace, each compared with its fingerprint.
    pub fn installed(&self, workspace: Option<&Path>) -> Result<Vec<InstalledPlugin>, PluginFault> {
        let mut records: Vec<PluginRecord> = self.records()?.into_iter().filter(|record| record.origin.counts_in(workspace)).collect();
        // Of two that have a name in common the first counts: the user's own.
        records.sort_by_key(|record| matches!(record.origin, PluginOrigin::Project(_)));
        Ok(records.into_iter().map(|record| self.compare(record)).collect())
    }

    fn compare(&self, record: PluginRecord) -> InstalledPlugin {
        let content = self.content(&record.fingerprint);
        let manifest = unchanged(&content, &record).and_then(|files| {
            if record.origin != PluginOrigin::User {
                unchanged(&record.source, &record)?;
            }
            files.manifest()
        });
        let manifest = manifest.and_then(supported);
        let program = manifest.as_ref().ok().map(|manifest| Arc::new(PluginProgram::new(manifest, content, &record)));
        InstalledPlugin {
            record,
            state: manifest,
            program,
            #[cfg(feature = "wasm")]
            code: Arc::default(),
        }
    }
}

/// The files of a folder, if they are what the user has looked at.
fn unchanged(folder: &Path, record: &PluginRecord) -> Result<PluginFiles, PluginFault> {
    let files = PluginFiles::read(folder)?;
    if files.fingerprint() == record.fingerprint {
        return Ok(files);
    }
    Err(PluginFault::new(format!("'{}' has changed since you looked at it", haft_text::display::escape_line(&folder.to_string_lossy()))))
}

/// Refuses what this build cannot run.
fn supported(manifest: PluginManifest) -> Result<PluginManifest, PluginFault> {
    if manifest.component.is_some() && cfg!(not(feature = "wasm")) {
        let how = "build haft with `cargo install --path crates/cli --features wasm`";
        return Err(PluginFault::new(format!("'component' needs the feature 'wasm', which this haft was built without: {how}")));
    }
    Ok(manifest)
}

/// What brings a plugin back.
pub(crate) fn advice(record: &PluginRecord) -> String {
    match record.origin {
        PluginOrigin::Project(_) => "See `haft trust --show`, and run `haft trust` if you want it.".to_owned(),
        PluginOrigin::User | PluginOrigin::Linked => {
            let source = haft_text::display::escape_line(&record.source.to_string_lossy()).into_owned();
            format!("Look at it again with `haft plugins add {source}`, or remove it with `haft plugins remove {}`.", record.name)
        }
    }
}

impl InstalledPlugin {
    /// A folder as if it were installed, to try whether its tools fit among others.
    pub fn tried(files: &PluginFiles, folder: &Path) -> Result<Self, PluginFault> {
        let manifest = supported(files.manifest()?)?;
        let record = PluginRecord::new(files, &manifest, folder, PluginOrigin::User);
        let program = Some(Arc::new(PluginProgram::new(&manifest, folder.to_owned(), &record)));
        Ok(Self {
            record,
            state: Ok(manifest),
            program,
            #[cfg(feature = "wasm")]
            code: Arc::default(),
        })
    }

    /// Its tools. Those of a withheld plugin keep their names, so that lists and rules on them hold, and say why they do not run.
    pub fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        match (&self.state, &self.program) {
            (Ok(manifest), Some(program)) => manifest.tools.iter().map(|spec| self.tool(manifest, program, spec)).collect(),
            (Ok(_), None) => Vec::new(),
            (Err(fault), _) => {
                let why = format!("The plugin '{}' does not run: {fault}. {}", self.record.name, advice(&self.record));
                let tool = |name: &String| Arc::new(WithheldTool::new(name, &why)) as Arc<dyn DynTool>;
                self.record.tools.iter().map(tool).collect()
            }
        }
    }

    fn tool(&self, manifest: &PluginManifest, program: &Arc<PluginProgram>, spec: &crate::PluginToolSpec) -> Arc<dyn DynTool> {
        #[cfg(feature = "wasm")]
        if manifest.component.is_some() {
            return Arc::new(crate::component::ComponentTool::new(Arc::clone(program), Arc::clone(&self.code), spec.clone()));
        }
        let _ = (self, manifest);
        Arc::new(PluginTool::new(Arc::clone(program), spec.clone()))
    }

    /// What to tell the user of a plugin that does not run.
    pub fn warning(&self) -> Option<String> {
        let fault = self.state.as_ref().err()?;
        Some(format!("the plugin '{}' does not run: {fault}. {}", self.record.name, advice(&self.record)))
    }
}
