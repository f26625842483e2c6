//! The demo model: rules that turn plain requests into real tool calls, offline and without a key. Every answer says that it is one.
//! A request that is not understood whole is not done at all.

mod clauses;
mod grammar;
mod phrase_requests;
mod phrases;
mod questions;
mod reminders;
mod request;
mod steps;
#[cfg(test)]
mod tests;

use haft_contract::BoxFuture;
use haft_provider::{
    Block, Completion, Delta, Message, Model, ModelReply, ModelTurn, OfferedTool, Protocol, ProviderError, Role, StopReason, Usage,
};
use haft_text::truncate::ellipsize;
use tokio_util::sync::CancellationToken;

use self::questions::is_about_itself;
use self::request::{DemoCall, DemoRequest};
use self::steps::{DemoStep, NextAction, NotUnderstood, StepResult, next_action, steps};
use crate::Provider;
use crate::runner::text_of;

/// The beginning of every answer that ends a turn.
const ANNOUNCEMENT: &str = "[demo model: a few rules, not a language model]";
const HELP: &str = "I understand plain requests: \"list files\", \"find *.toml\", \"read README.md\", \"search for TODO\", \
                    \"create notes.txt with 'hello'\", \"append 'more' to notes.txt\", \"replace 'hello' with 'goodbye' in notes.txt\", \
                    \"delete notes.txt\", \"rename a.txt to b.txt\", \"run `ls -l`\", \"run the tests\", \"git status\", \"fetch http://127.0.0.1:8080/\", \
                    \"remind me every weekday at 9 to water the plants\", \
                    \"what time is it in Tokyo\", \"how much memory is there\", and several steps with \"then\" (\"append 'more' to notes.txt then show it\"). \
                    For a real model set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or configure a provider.";
/// How much of a result is repeated in an answer.
const RESULT_CHARS: usize = 600;
/// How much of a request is repeated in an answer.
const REQUEST_CHARS: usize = 100;

/// A model made of rules, for demonstrations and tests.
#[derive(Debug)]
pub struct DemoModel {
    model: Model,
}

impl Default for DemoModel {
    fn default() -> Self {
        let mut model = Model::new("demo", Protocol::OpenAi, "demo");
        model.accepts_pictures = false;
        Self { model }
    }
}

impl Provider for DemoModel {
    fn model(&self) -> &Model {
        &self.model
    }

    fn answer<'a>(
        &'a self,
        turn: ModelTurn<'a>,
        _cancel: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        Box::pin(async move {
            let reply = reply(&turn);
            stream_blocks(&reply.blocks, each);
            Ok(Completion::new(reply))
        })
    }
}

fn stream_blocks(blocks: &[Block], each: &mut (dyn FnMut(Delta) + Send)) {
    let mut index = 0;
    for block in blocks {
        match block {
            Block::Text { text, .. } => each(Delta::Text(text.clone())),
            Block::Call { name, .. } => {
                each(Delta::CallBegun { index, name: name.clone() });
                each(Delta::CallReady { index, call: block.clone() });
                index += 1;
            }
            _ => {}
        }
    }
}

fn reply(turn: &ModelTurn<'_>) -> ModelReply {
    let blocks = answer(turn);
    let stop = if blocks.iter().any(|block| block.call_id().is_some()) { StopReason::ToolCalls } else { StopReason::EndTurn };
    ModelReply::new(blocks, stop, Usage::default())
}

fn answer(turn: &ModelTurn<'_>) -> Vec<Block> {
    let asked = turn.messages.iter().rposition(|message| asked_in(message, turn.tools).is_some());
    let results: Vec<StepResult> = turn.messages[asked.map_or(0, |asked| asked + 1)..].iter().flat_map(results_of).collect();
    // Results before the request are those of another turn.
    let is_new = asked.is_some_and(|asked| asked + 1 == turn.messages.len());
    let last: Vec<StepResult> = turn.messages.last().filter(|_| !is_new).map(results_of).unwrap_or_default();
    let lines: Vec<String> = last.iter().map(|result| result.line(RESULT_CHARS)).collect();
    let text = asked.and_then(|asked| asked_in(&turn.messages[asked], turn.tools)).unwrap_or_default();
    if is_about_itself(&text) {
        return vec![Block::text(format!("{ANNOUNCEMENT} {HELP}"))];
    }
    let steps = match steps(&text) {
        Ok(steps) => steps,
        // A conversation that was compacted begins with results.
        Err(_) if !lines.is_empty() => return vec![announce(lines, None)],
        // What the user scheduled for now: a reminder is said, and nothing else is understood.
        Err(_) if reminders::scheduled(&text).is_some() => return vec![reminded(&text)],
        Err(NotUnderstood(part)) => return vec![not_understood(&part)],
    };
    match next_action(&steps, &results) {
        NextAction::End(why) => vec![announce(lines, why)],
        NextAction::Call(calls) => match missing(&steps, turn.tools) {
            Some(tool) => vec![Block::text(format!(
                "{ANNOUNCEMENT} I would need {tool}, which I am not offered, so I did nothing; `haft explain {tool}` says why."
            ))],
            None => (!lines.is_empty()).then(|| Block::text(lines.join("\n"))).into_iter().chain(call_blocks(&calls, turn)).collect(),
        },
    }
}

/// What the user asks for in a message. After a turn that was stopped, the next request is in the message of the one before, or in that
/// of its results; files that it names follow it.
fn asked_in(message: &Message, tools: &[OfferedTool]) -> Option<String> {
    if message.role != Role::User {
        return None;
    }
    let results = message.blocks.iter().rposition(|block| block.result_id().is_some());
    // Without tools a summary is wanted, whose instruction is no request.
    let blocks = if tools.is_empty() { &message.blocks[..message.blocks.len().min(1)] } else { &message.blocks[..] };
    let after = results.map_or(0, |at| at + 1);
    let newest = blocks.iter().skip(after).map(|block| text_of(std::slice::from_ref(block))).rfind(|text| is_request(text));
    // A message without results is the user's, whatever it says.
    newest.or_else(|| results.is_none().then(|| text_of(&message.blocks[..message.blocks.len().min(1)])))
}

/// Whether a text is the user's, and neither a notice nor a file.
fn is_request(text: &str) -> bool {
    let is_notice = text.starts_with('[') && reminders::scheduled(text).is_none();
    !text.trim().is_empty() && !is_notice && !text.starts_with("<file path=")
}

fn results_of(message: &Message) -> Vec<StepResult> {
    message.blocks.iter().filter_map(StepResult::from_block).collect()
}

fn announce(mut lines: Vec<String>, why: Option<String>) -> Block {
    lines.insert(0, ANNOUNCEMENT.to_owned());
    lines.extend(why);
    Block::text(lines.join("\n"))
}

fn reminded(text: &str) -> Block {
    let message = reminders::scheduled(text).unwrap_or_default();
    Block::text(format!("{ANNOUNCEMENT} Reminder: {}", ellipsize(message, RESULT_CHARS)))
}

fn not_understood(part: &str) -> Block {
    let what = match part.trim() {
        "" => String::new(),
        part => format!("I do not understand \"{}\", so I did nothing. ", ellipsize(part, REQUEST_CHARS)),
    };
    Block::text(format!("{ANNOUNCEMENT} {what}{HELP}"))
}

/// The first tool that a step needs and that is not offered.
fn missing(steps: &[DemoStep], tools: &[OfferedTool]) -> Option<&'static str> {
    let calls = steps.iter().flat_map(|step| &step.0).flat_map(DemoRequest::needed_calls);
    calls.into_iter().find(|call| offered(call, tools).is_none()).map(|call| call.tools[0])
}

/// The name of the first offered tool for a call, in any dialect.
fn offered<'t>(call: &DemoCall, tools: &'t [OfferedTool]) -> Option<&'t str> {
    call.tools.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name)).map(|tool| tool.name.as_str())
}

fn call_blocks(calls: &[DemoCall], turn: &ModelTurn<'_>) -> Vec<Block> {
    let block = |(number, call): (usize, &DemoCall)| {
        let (id, name) = (format!("demo_{}_{number}", turn.messages.len()), offered(call, turn.tools)?.to_owned());
        Some(Block::Call { id, name, arguments: call.arguments.to_string(), opaque: None })
    };
    calls.iter().enumerate().filter_map(block).collect()
}
