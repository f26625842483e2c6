//! `haft sessions show`: what was said, and what it used.

use std::sync::Arc;

use haft_agent::Entry;
use haft_contract::visible;
use haft_provider::{Block, Message, Piece};
use haft_store::{SessionStore, UsageSum};

use super::{WHEN, entries, export, whole_cost};
use crate::commands::history::local_time;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG, print};
use crate::page::Page;

/// How much of a result is shown.
const SHOWN_CHARACTERS: usize = 400;

pub(super) async fn show(store: &Arc<dyn SessionStore>, id: &str, output: &Output) -> Result<Exit, Failure> {
    if output.json {
        return export(store, id, output).await;
    }
    let session = store.open(id).await?;
    let mut page = Page::default();
    page.line(format_args!("{STRONG}{}{STRONG:#} {DIM}{}{DIM:#}", session.id, local_time(session.created, WHEN)));
    if let Some(used) = used(&store.session_usage(&session.id).await?) {
        page.line(format_args!("{DIM}{used}{DIM:#}"));
    }
    entries(store, &session.id).await?.iter().for_each(|entry| tell(entry, &mut page));
    print(&page.finish())?;
    Ok(Exit::Success)
}

fn tell(entry: &Entry, page: &mut Page) {
    match entry {
        Entry::User { message } => said("you", message, page),
        Entry::Assistant { message, model, .. } => said(model, message, page),
        Entry::Results { message } => said("results", message, page),
        Entry::Summary { message, kept } => {
            said(&format!("summary of all above but the last {kept}, which the model was given in its place"), message, page);
        }
        // The answer that follows holds the call.
        _ => {}
    }
}

/// What a session used, in words; nothing if no model was asked that counts.
fn used(usage: &UsageSum) -> Option<String> {
    if usage.input + usage.output == 0 {
        return None;
    }
    let cached = if usage.cached > 0 { format!(" ({} cached)", usage.cached) } else { String::new() };
    let cost = whole_cost(usage).map(|cost| format!(", {cost}")).unwrap_or_default();
    Some(format!("{} tokens in{cached}, {} out{cost}", usage.input, usage.output))
}

fn said(who: &str, message: &Message, page: &mut Page) {
    page.line(format_args!("\n{STRONG}{}{STRONG:#}", visible::line(who)));
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } => page.line(visible::lines(text)),
            Block::Call { name, arguments, .. } => page.line(format_args!("→ {} {}", visible::line(name), short(arguments))),
            Block::Result { name, content, is_error, .. } => {
                let text = content.iter().find_map(|piece| if let Piece::Text { text } = piece { Some(text.as_str()) } else { None });
                let mark = if *is_error { "failed" } else { "ok" };
                page.line(format_args!("← {} {mark}: {}", visible::line(name), short(text.unwrap_or_default())));
            }
            _ => {}
        }
    }
}

fn short(text: &str) -> String {
    let text = visible::line(text);
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(entry: &Entry) -> String {
        let mut page = Page::default();
        tell(entry, &mut page);
        anstream::adapter::strip_str(&page.finish()).to_string()
    }

    #[test]
    fn a_summary_says_what_it_stands_for() {
        let entry = Entry::Summary { message: Message::user("They sharpened\nthe axe."), kept: 4 };
        let title = "summary of all above but the last 4, which the model was given in its place";
        assert_eq!(told(&entry), format!("\n{title}\nThey sharpened\nthe axe.\n"));
    }

    #[test]
    fn what_was_used_is_told_and_no_price_is_made_up() {
        let sum = |unpriced, cached| UsageSum {
            requests: 2,
            input: 1200,
            output: 34,
            cached,
            cost_micros: 21_000,
            unpriced,
            ..UsageSum::default()
        };
        for (usage, words) in [
            (sum(0, 0), Some("1200 tokens in, 34 out, $0.0210")),
            (sum(0, 900), Some("1200 tokens in (900 cached), 34 out, $0.0210")),
            (sum(1, 0), Some("1200 tokens in, 34 out")),
            (UsageSum::default(), None),
        ] {
            assert_eq!(used(&usage).as_deref(), words, "{usage:?}");
        }
    }
}
