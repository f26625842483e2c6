//! Tools for the page: listed, explained, called.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_agent::NullMeter;
use haft_contract::{Arguments, ToolCall, ToolResult, ToolSource};
use haft_gateway::ToolRequest;
use haft_policy::{Policy, STEPS, StepOutcome, ToolMatcher};
use haft_provider::schema::project;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::arguments::CallerArgs;
use crate::commands::explain::decisive;
use crate::commands::tools::{ListedTool, find};
use crate::failure::Failure;
use crate::wire::{self, CallSetup, JobSettings, UserPrompts, Wire, models};

/// Every tool, offered or not.
pub(super) fn list(backend: &ServeBackend, agent: Option<&str>) -> Result<Value, Failure> {
    let wire = backend.wire_of(agent)?;
    let (agents, allowed) = (offers(&wire)?, invoke_allowed(&wire));
    let listed = all(&wire, &wire.settings.agent)?;
    Ok(listed.iter().map(|tool| to_json(tool, &agents, &allowed)).collect())
}

pub(super) fn one(backend: &ServeBackend, request: &ToolRequest) -> Result<Value, Failure> {
    let wire = backend.wire_of(request.agent.as_deref())?;
    let name = find(&wire, &request.tool)?.name().to_owned();
    let listed = all(&wire, &wire.settings.agent)?.into_iter().find(|tool| tool.definition().name == name);
    let Some(tool) = listed else { return Err(Failure::failed("tool_not_found", format!("there is no tool '{name}'"))) };
    let mut value = to_json(&tool, &offers(&wire)?, &invoke_allowed(&wire));
    if let Some(provider) = &request.provider {
        value["projected"] = projected(&wire, provider, &tool)?;
    }
    Ok(value)
}

/// The schema as the models of a provider get it.
fn projected(wire: &Wire, provider: &str, tool: &ListedTool) -> Result<Value, Failure> {
    let model = models::example(&wire.settings, provider)?;
    let schema = project(&model, &tool.definition().parameters).map_err(|why| Failure::failed("execution_error", why))?;
    Ok(json!({ "provider": provider, "parameters": schema.value, "strict": schema.strict }))
}

fn all(wire: &Wire, agent: &str) -> Result<Vec<ListedTool>, Failure> {
    let session = wire.listing(agent, &CallerArgs::default())?;
    let listed = |entry| ListedTool { decision: decision(wire, &session, &entry), dialect: session.dialect(), entry };
    Ok(wire.registry.entries().into_iter().map(listed).collect())
}

fn decision(wire: &Wire, session: &haft_engine::Session, entry: &Arc<haft_engine::ToolEntry>) -> haft_policy::Decision {
    wire.policy.offer(&entry.candidate(), session.caller())
}

/// Which agents are offered each tool.
fn offers(wire: &Wire) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut offers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for agent in wire.agents() {
        for tool in all(wire, &agent)?.iter().filter(|tool| tool.is_offered()) {
            offers.entry(tool.definition().name.to_string()).or_default().push(agent.clone());
        }
    }
    Ok(offers)
}

/// The tools that the user lets requests call although the gateway refuses them by default.
fn invoke_allowed(wire: &Wire) -> ToolMatcher {
    ToolMatcher::new(&wire.settings.config.invoke_allow, &wire.settings.tool_groups(), wire.policy.vocabulary())
}

fn to_json(tool: &ListedTool, offers: &BTreeMap<String, Vec<String>>, allowed: &ToolMatcher) -> Value {
    let (mut value, definition) = (tool.to_json(true), tool.definition());
    value["canonical"] = json!(definition.name);
    value["offered"] = value["available"].take();
    value["timeout_s"] = json!(definition.timeout.as_secs());
    value["hidden_by"] = hidden_by(tool);
    value["offered_to"] = json!(offers.get(&*definition.name).cloned().unwrap_or_default());
    value["source"] = json!(source(tool.entry.source()));
    value["invoke_allowed"] = json!(allowed.matches(&tool.entry.candidate()));
    value
}

/// The step of the policy that hides a tool, with its number in an explanation.
fn hidden_by(tool: &ListedTool) -> Value {
    let mut trace = tool.decision.trace.iter();
    let Some(entry) = trace.find(|entry| !tool.is_offered() && entry.outcome == StepOutcome::Deny) else { return Value::Null };
    let number = STEPS.iter().position(|step| *step == entry.step).map(|at| at + 1);
    json!({ "number": number, "step": entry.step })
}

fn source(source: &ToolSource) -> String {
    match source {
        ToolSource::BuiltIn => "built-in".into(),
        ToolSource::Plugin(name) => format!("plugin {name}"),
        ToolSource::Mcp(name) => format!("mcp {name}"),
        _ => "other".into(),
    }
}

pub(super) async fn explain(backend: &ServeBackend, request: &ToolRequest) -> Result<Value, Failure> {
    let wire = backend.wire_of(request.agent.as_deref())?;
    let explainer = wire.explainer()?;
    let session = explainer.session(None, &CallerArgs::default())?;
    let arguments = request.arguments.clone().map(Arguments::Json);
    Ok(json!(explainer.engine.explain(&request.tool, arguments, &session).await?))
}

/// Every tool with what each step says.
pub(super) async fn policy(backend: &ServeBackend, agent: Option<&str>) -> Result<Value, Failure> {
    let wire = backend.wire_of(agent)?;
    let explainer = wire.explainer()?;
    let session = explainer.session(None, &CallerArgs::default())?;
    let mut tools = Vec::new();
    for name in wire.registry.names() {
        let explanation = explainer.engine.explain(&name, None, &session).await?;
        let deciding = decisive(&explanation.trace).map(|entry| entry.step);
        let cells: serde_json::Map<String, Value> = explanation.trace.iter().map(|entry| (entry.step.to_owned(), json!(entry))).collect();
        tools.push(json!({ "tool": name, "verdict": explanation.verdict, "deciding": deciding, "cells": cells }));
    }
    Ok(json!({ "steps": STEPS, "tools": tools }))
}

/// Calls a tool as the user.
pub(super) async fn invoke(backend: &ServeBackend, request: &ToolRequest, call_id: &str) -> Result<ToolResult, Failure> {
    let wire = backend.wire_of(request.agent.as_deref())?;
    let store = Arc::clone(&backend.served.store);
    let jobs = wire.recorded_jobs(&store);
    let jobs = move || JobSettings { wait_for_exit: true, ..jobs() };
    let mut services = wire.call_services(store.sessions(), &backend.output);
    services.small_model = wire::small_model(&wire, Arc::new(NullMeter));
    let setup = wire.calling(&wire.settings.workspace, store, jobs, UserPrompts::Allowed, &CallerArgs::default(), services)?;
    let arguments = request.arguments.clone().unwrap_or_default();
    let result = setup.engine.run(ToolCall::new(call_id, request.tool.as_str(), arguments), &setup.session).await;
    setup.log.flush().await?;
    keep_for_background(setup);
    Ok(result)
}

/// A command that runs on in the background ends with the sandbox and the proxy of its session: they stay until it has ended.
fn keep_for_background(setup: CallSetup) {
    let jobs = setup.session.host().processes().jobs(setup.session.id());
    let running: Vec<_> = jobs.into_iter().filter(|job| job.status().end.is_none()).collect();
    if !running.is_empty() {
        tokio::spawn(async move {
            for job in running {
                job.wait().await;
            }
            drop(setup);
        });
    }
}
