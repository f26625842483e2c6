//! `haft sessions show`: messages and usage of a session.

use std::sync::Arc;

use haft_agent::LedgerEntry;
use haft_provider::{Block, Message, ResultPart};
use haft_store::{SessionStore, UsageSum};
use haft_text::display;
use haft_text::truncate::ellipsize;
use haft_tui::sessions::{WHEN, entries, whole_cost};
use haft_tui::time::local_time;

use super::export;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG, print};
use crate::text_builder::TextBuilder;

/// How much of a result is shown.
const SHOWN_CHARACTERS: usize = 400;

pub(super) async fn show(store: &Arc<dyn SessionStore>, id: &str, output: &Output) -> Result<Exit, Failure> {
    if output.json {
        return export(store, id, output).await;
    }
    let session = store.open(id).await?;
    let mut page = TextBuilder::default();
    page.line(format_args!("{STRONG}{}{STRONG:#} {DIM}{}{DIM:#}", session.id, local_time(session.created, WHEN)));
    if let Some(usage) = usage_text(&store.session_usage(&session.id).await?) {
        page.line(format_args!("{DIM}{usage}{DIM:#}"));
    }
    show_entries(&entries(store, &session.id).await?, &mut page);
    print(&page.finish())?;
    Ok(Exit::Success)
}

fn show_entries(entries: &[LedgerEntry], page: &mut TextBuilder) {
    // Calls whose answer has not come yet. That of a process that was killed never comes.
    let mut begun = Vec::new();
    for entry in entries {
        match entry {
            LedgerEntry::Begun { call } => begun.push(call.clone()),
            LedgerEntry::Assistant { .. } => begun.clear(),
            LedgerEntry::Heard { .. } => {}
            _ => show_cut_off(std::mem::take(&mut begun), page),
        }
        show_entry(entry, page);
    }
    show_cut_off(begun, page);
}

fn show_cut_off(begun: Vec<Block>, page: &mut TextBuilder) {
    if !begun.is_empty() {
        show_message("an answer that was cut off", &Message::assistant(begun), page);
    }
}

fn show_entry(entry: &LedgerEntry, page: &mut TextBuilder) {
    match entry {
        LedgerEntry::User { message } => show_message("you", message, page),
        LedgerEntry::Assistant { message, model, .. } => show_message(model, message, page),
        LedgerEntry::Results { message } => show_message("results", message, page),
        LedgerEntry::Summary { message, kept } => {
            show_message(&format!("summary of all above but the last {kept}; the model gets it in their place"), message, page);
        }
        // The answer that follows contains the call, if it came.
        _ => {}
    }
}

/// Tokens and cost of a session; `None` if no tokens were counted.
fn usage_text(usage: &UsageSum) -> Option<String> {
    if usage.input + usage.output == 0 {
        return None;
    }
    let cached = if usage.cached > 0 { format!(" ({} cached)", usage.cached) } else { String::new() };
    let cost = whole_cost(usage).map(|cost| format!(", {cost}")).unwrap_or_default();
    Some(format!("{} tokens in{cached}, {} out{cost}", usage.input, usage.output))
}

fn show_message(role: &str, message: &Message, page: &mut TextBuilder) {
    page.line(format_args!("\n{STRONG}{}{STRONG:#}", display::escape_line(role)));
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } => page.line(display::escape_lines(text)),
            Block::Call { name, arguments, .. } => page.line(format_args!("→ {} {}", display::escape_line(name), short(arguments))),
            Block::Result { name, content, is_error, .. } => {
                let text = content.iter().find_map(|piece| if let ResultPart::Text { text } = piece { Some(text.as_str()) } else { None });
                let mark = if *is_error { "failed" } else { "ok" };
                page.line(format_args!("← {} {mark}: {}", display::escape_line(name), short(text.unwrap_or_default())));
            }
            _ => {}
        }
    }
}

fn short(text: &str) -> String {
    ellipsize(&display::escape_line(text), SHOWN_CHARACTERS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(entry: &LedgerEntry) -> String {
        told_all(std::slice::from_ref(entry))
    }

    fn told_all(entries: &[LedgerEntry]) -> String {
        let mut page = TextBuilder::default();
        show_entries(entries, &mut page);
        anstream::adapter::strip_str(&page.finish()).to_string()
    }

    #[test]
    fn calls_of_an_answer_that_was_cut_off_are_shown() {
        let call = |name: &str| Block::Call { id: name.into(), name: name.into(), arguments: "{}".into(), opaque: None };
        let begun = |name: &str| LedgerEntry::Begun { call: call(name) };
        let whole = LedgerEntry::Assistant {
            message: Message::assistant(vec![call("a")]),
            model: "m".into(),
            stop: haft_provider::StopReason::ToolCalls,
            usage: haft_provider::Usage::default(),
        };
        let entries = [begun("a"), whole, begun("b"), LedgerEntry::User { message: Message::user("continue") }, begun("c")];
        let cut_off = |name: &str| format!("\nan answer that was cut off\n→ {name} {{}}\n");
        assert_eq!(told_all(&entries), format!("\nm\n→ a {{}}\n{}\nyou\ncontinue\n{}", cut_off("b"), cut_off("c")));
    }

    #[test]
    fn summary_says_what_it_replaces() {
        let entry = LedgerEntry::Summary { message: Message::user("They sharpened\nthe axe."), kept: 4 };
        let title = "summary of all above but the last 4; the model gets it in their place";
        assert_eq!(told(&entry), format!("\n{title}\nThey sharpened\nthe axe.\n"));
    }

    #[test]
    fn usage_text_has_no_invented_price() {
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
            assert_eq!(usage_text(&usage).as_deref(), words, "{usage:?}");
        }
    }
}
