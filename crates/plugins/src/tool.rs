//! A tool of a plugin: one run of its command for each call, in the sandbox that its plan got.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    BoxFuture, CommandRequest, DynTool, Effect, ErrorKind, ExecHost, Hints, Job, JobEnd, JobHandle, JobOptions, Plan, PlanContext,
    Prepared, ProgramSpec, ToolContext, ToolDefinition, ToolError, ToolOutput,
};
use serde_json::{Value, json};

use crate::capture::{CapturedStreams, ErrorReceiver, MOST_OUTPUT, OutputReceiver};
use crate::installed::advice;
use crate::manifest::DeclaredEffects;
use crate::{PluginFiles, PluginManifest, PluginRecord, PluginToolSpec, changes, reply};

/// How much longer than its command a call may take: to start its sandbox, and to apply what it changed.
const GRACE: Duration = Duration::from_secs(30);

/// The command of a plugin, as the user has looked at it.
#[derive(Debug)]
pub(crate) struct PluginProgram {
    name: String,
    version: String,
    /// The copy that runs.
    folder: PathBuf,
    words: Vec<String>,
    fingerprint: String,
    advice: String,
    #[cfg(feature = "wasm")]
    component: Option<String>,
}

impl PluginProgram {
    pub(crate) fn new(manifest: &PluginManifest, folder: PathBuf, record: &PluginRecord) -> Self {
        Self {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            words: manifest.words(&folder.to_string_lossy()),
            folder,
            fingerprint: record.fingerprint.clone(),
            advice: advice(record),
            #[cfg(feature = "wasm")]
            component: manifest.component.clone(),
        }
    }

    /// Refuses a copy that is not what the user has looked at. No tool can write there; a process of the user could.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        self.files().map(drop)
    }

    /// The files of the copy, if they are what the user has looked at.
    fn files(&self) -> Result<PluginFiles, ToolError> {
        if let Some(files) = PluginFiles::read(&self.folder).ok().filter(|files| files.fingerprint() == self.fingerprint) {
            return Ok(files);
        }
        let what = format!("The plugin '{}' was not run: its files have changed since the user looked at them. {}", self.name, self.advice);
        Err(ToolError::denied(what))
    }

    /// The bytes of its component, as the user has looked at them.
    #[cfg(feature = "wasm")]
    pub(crate) fn component(&self) -> Result<Vec<u8>, ToolError> {
        let component = self.component.as_deref().and_then(|path| self.files().map(|files| files.take(path)).transpose());
        component.unwrap_or_else(|| Err(ToolError::execution(format!("The plugin '{}' has no component.", self.name))))
    }

    #[cfg(feature = "wasm")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    #[cfg(feature = "wasm")]
    pub(crate) fn version(&self) -> &str {
        &self.version
    }
}

/// One tool of a plugin.
pub(crate) struct PluginTool {
    definition: ToolDefinition,
    program: Arc<PluginProgram>,
    spec: Arc<PluginToolSpec>,
}

haft_contract::opaque_debug!(PluginTool: spec = spec);

impl PluginTool {
    pub(crate) fn new(program: Arc<PluginProgram>, spec: PluginToolSpec) -> Self {
        let mut definition = ToolDefinition::new(spec.name.clone(), spec.description.clone(), spec.parameters.clone());
        definition.keep_texts();
        definition.access = spec.effects.access();
        definition.timeout = spec.timeout + GRACE;
        definition.optional = spec.optional;
        definition.hints = Hints {
            read_only: spec.effects == DeclaredEffects::ReadOnly && spec.hosts.is_empty(),
            destructive: spec.effects != DeclaredEffects::ReadOnly,
            idempotent: false,
            open_world: !spec.hosts.is_empty(),
        };
        Self { definition, program, spec: Arc::new(spec) }
    }

    /// The program, always in the sandbox where there is one.
    fn request(&self) -> CommandRequest {
        CommandRequest {
            command: format!("{} (plugin {})", self.spec.name, self.program.name),
            program: Some(ProgramSpec { words: self.program.words.clone(), folder: self.program.folder.clone() }),
            host: Some(ExecHost::Sandbox),
            allow_hosts: self.spec.hosts.clone(),
            read_only: self.spec.effects == DeclaredEffects::ReadOnly,
            ..CommandRequest::default()
        }
    }
}

impl DynTool for PluginTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare(&self, arguments: Value, cx: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        self.program.check()?;
        let command = cx.command(&self.request())?;
        // A read-only session would run it in a read-only view, where what it is for fails half-way.
        let needs_more = self.spec.effects == DeclaredEffects::WorkspaceWrite && command.has_read_only_view();
        let plan = Plan::nothing().command(command);
        let plan = if needs_more {
            plan.with(Effect::Contained { why: "its plugin declares that it changes files".into(), read_only: false })
        } else {
            plan
        };
        let (program, spec, access) = (Arc::clone(&self.program), Arc::clone(&self.spec), cx.access());
        let run = move |cx: ToolContext| -> BoxFuture<'static, _> {
            Box::pin(async move {
                let context = json!({ "access": access.as_str(), "plugin_version": program.version });
                PluginCall { program: &program, spec: &spec, cx: &cx }.run(arguments, context).await
            })
        };
        Ok(Prepared::new(plan, run))
    }
}

/// One call.
struct PluginCall<'a> {
    program: &'a PluginProgram,
    spec: &'a PluginToolSpec,
    cx: &'a ToolContext,
}

impl PluginCall<'_> {
    async fn run(&self, arguments: Value, context: Value) -> Result<ToolOutput, ToolError> {
        let streams = Arc::new(CapturedStreams::default());
        let options = JobOptions {
            timeout: Some(self.spec.timeout),
            input: true,
            spill: Some(Box::new(OutputReceiver(Arc::clone(&streams)))),
            error_output: Some(Box::new(ErrorReceiver::new(Arc::clone(&streams), self.cx.clone()))),
            ..JobOptions::default()
        };
        let job = self.cx.process().start(options).await?;
        let input = self.input(&job, &arguments, context);
        let end = self.wait(&job, &input, &streams).await?;
        let remarks = changes::settle(&job, &end, self.cx).await?;
        let details = json!({ "plugin": self.program.name, "version": self.program.version, "sandbox": job.status().sandbox });
        match reply::read(&self.program.name, &end, &streams.take_output(), &streams.errors()) {
            Ok(result) => Ok(report(result, &remarks, details)),
            Err(error) => {
                let message = std::iter::once(error.message().to_owned()).chain(remarks).collect::<Vec<_>>().join("\n");
                Err(error.with_message(message).with_details(details))
            }
        }
    }

    /// The call as the command reads it.
    fn input(&self, job: &JobHandle, arguments: &Value, mut context: Value) -> Vec<u8> {
        let call = self.cx.call();
        let status = job.status();
        context["workspace"] = json!(status.directory.to_string_lossy());
        context["agent"] = json!(&*call.agent);
        context["session"] = json!(&*call.session);
        context["call"] = json!(call.id);
        context["sandboxed"] = json!(status.host.is_sandboxed());
        let mut input = json!({ "tool": self.spec.name, "arguments": arguments, "context": context }).to_string().into_bytes();
        input.push(b'\n');
        input
    }

    /// Waits for the end of the command. It is ended with the call, and when it prints too much.
    async fn wait(&self, job: &JobHandle, input: &[u8], streams: &CapturedStreams) -> Result<JobEnd, ToolError> {
        let ended = async {
            // A command need not read its input: what it does then is seen by its answer.
            let (_written, end) = tokio::join!(job.write(input, true), job.wait());
            end
        };
        let name = &self.program.name;
        tokio::select! {
            biased;
            () = self.cx.cancelled() => {
                job.kill().await;
                Err(ToolError::new(ErrorKind::Cancelled, format!("The call was cancelled, and the plugin '{name}' ended.")))
            }
            () = streams.overflowed() => {
                job.kill().await;
                let most = haft_text::numbers::size(MOST_OUTPUT as u64);
                let advice = "It must write large results to a file in the workspace, and answer with its name";
                Err(ToolError::execution(format!("The plugin '{name}' was ended: it printed more than {most}. {advice}.")))
            }
            end = ended => Ok(end),
        }
    }
}

/// Text stays text; anything else is indented JSON.
fn report(result: Value, remarks: &[String], details: Value) -> ToolOutput {
    let (text, details) = match result {
        Value::String(text) => (text, details),
        value => {
            let text = format!("{value:#}");
            let mut details = details;
            details["result"] = value;
            (text, details)
        }
    };
    let text = if remarks.is_empty() { text } else { format!("{text}\n\n{}", remarks.join("\n")) };
    ToolOutput::text(text).with_details(details)
}
