//! `haft channels`: lists and tests channels, lets senders in and shuts them out, and lists what was sent.

use std::sync::Arc;
use std::time::SystemTime;

use haft_channels::{CODE_LIFETIME, ChannelReport, ChannelService, new_code};
use haft_contract::ports::{ChannelAction, ChannelKind, SendOutcome};
use haft_store::{ChannelStore, OutgoingRecord, PairedSender};
use haft_text::display;
use haft_tui::time::local_time;
use serde_json::{Value, json};

use crate::arguments::{ChannelsCommand, Common, SendersCommand};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, ERROR, GOOD, Output, STRONG, note};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::Wire;

const MOMENT: &str = "%Y-%m-%d %H:%M";
/// Messages that a page shows.
const SHOWN_SENT: usize = 20;
const ADD_ONE: &str = "add a table [channels.NAME] with a kind to your configuration: docs/CHANNELS.md has an example for each kind";

pub(crate) fn run(common: &Common, command: &ChannelsCommand, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let service = Arc::clone(wire.channels());
    block_on(async {
        match command {
            ChannelsCommand::List => list(&service, output),
            ChannelsCommand::Test { name } => test(&service, name, output).await,
            ChannelsCommand::Pair { name } => pair(&service, name, output).await,
            ChannelsCommand::Senders { command: SendersCommand::List } => senders(&service, output).await,
            ChannelsCommand::Senders { command: SendersCommand::Remove { name, sender } } => remove(&service, name, sender, output).await,
            ChannelsCommand::Sent { name, limit } => list_sent(&service, name.as_deref(), *limit, output).await,
        }
    })
}

fn store(service: &ChannelService) -> Result<&Arc<dyn ChannelStore>, Failure> {
    service.store().map_err(|why| Failure::failed("execution_error", why))
}

/// Every channel as JSON.
pub(crate) fn rows(service: &ChannelService) -> Vec<Value> {
    service.reports().iter().map(row).collect()
}

/// The newest messages that were to be sent, as JSON.
pub(crate) async fn newest(service: &ChannelService) -> Result<Vec<Value>, Failure> {
    Ok(store(service)?.outgoing(None, SHOWN_SENT, SystemTime::now()).await?.iter().map(sent_json).collect())
}

fn row(report: &ChannelReport) -> Value {
    json!({
        "name": report.name, "kind": report.kind, "usable": report.fault.is_none(), "fault": report.fault,
        "actions": report.actions, "receives": report.receives, "allowed_senders": report.allowed,
    })
}

fn find_report<'a>(reports: &'a [ChannelReport], name: &str) -> Result<&'a ChannelReport, Failure> {
    if let Some(report) = reports.iter().find(|report| report.name == name) {
        return Ok(report);
    }
    let near = haft_text::suggest::nearest(name, reports.iter().map(|report| report.name.as_str()));
    let help = near.first().map_or_else(|| ADD_ONE.to_owned(), |near| format!("did you mean '{near}'?"));
    Err(Failure::usage(format!("there is no channel '{}'", display::escape_line(name))).help(help))
}

fn list(service: &ChannelService, output: &Output) -> Result<Exit, Failure> {
    let reports = service.reports();
    if reports.is_empty() {
        note(&format!("no channel is configured; {ADD_ONE}"));
    }
    let columns =
        [("CHANNEL", ColumnFit::Keep), ("KIND", ColumnFit::Keep), ("STATE", ColumnFit::Wrap), ("TAKES MESSAGES", ColumnFit::Keep)];
    let mut table = Table::new(&columns);
    for report in &reports {
        let (state, style) = match &report.fault {
            Some(fault) => (fault.clone(), ERROR),
            None if report.actions.is_empty() => ("receives only".to_owned(), GOOD),
            None => (report.actions.iter().map(|action| action.as_str()).collect::<Vec<_>>().join(", "), GOOD),
        };
        let takes = if report.receives { "yes" } else { "no" };
        table.row(vec![
            TableCell::styled(&report.name, STRONG),
            TableCell::new(report.kind),
            TableCell::styled(&state, style),
            TableCell::styled(takes, DIM),
        ]);
    }
    output.show(|| rows(service), || table.render(output.width))
}

async fn test(service: &ChannelService, name: &str, output: &Output) -> Result<Exit, Failure> {
    let reports = service.reports();
    let asks = find_report(&reports, name)?.kind != ChannelKind::Webhook.as_str();
    let who = service.probe(name).await.map_err(|why| {
        Failure::failed("network_error", format!("the channel '{name}' does not work: {why}")).help("check its table in the configuration")
    })?;
    let who_shown = display::escape_line(&who);
    // Any request to a webhook would be a message.
    let line =
        if asks { format!("{name} works: Haft is {who_shown}\n") } else { format!("{name} is complete, and was not tried: {who_shown}\n") };
    output.show(|| json!({ "channel": name, "works": asks.then_some(true), "account": who }), || line.clone())
}

async fn pair(service: &ChannelService, name: &str, output: &Output) -> Result<Exit, Failure> {
    let reports = service.reports();
    let report = find_report(&reports, name)?;
    if !report.receives {
        return Err(Failure::usage(format!("the channel '{name}' takes no messages"))
            .help(format!("set receive = true in [channels.{name}], and run `haft serve`")));
    }
    let code = new_code().map_err(|why| Failure::failed("execution_error", why))?;
    let expires = SystemTime::now() + CODE_LIFETIME;
    service.open_code(name, &code, expires).await.map_err(|why| Failure::failed("execution_error", why))?;
    note(&format!("send this to the bot within ten minutes, while `haft serve` runs: /pair {code}"));
    output.show(|| json!({ "channel": name, "code": code, "seconds": CODE_LIFETIME.as_secs() }), || format!("{code}\n"))
}

async fn senders(service: &ChannelService, output: &Output) -> Result<Exit, Failure> {
    let senders = store(service)?.senders().await?;
    if senders.is_empty() {
        note("no sender was let in by a code; `haft channels pair NAME` makes one");
    }
    let columns = [("CHANNEL", ColumnFit::Keep), ("SENDER", ColumnFit::Keep), ("NAME", ColumnFit::Cut), ("SINCE", ColumnFit::Keep)];
    let mut table = Table::new(&columns);
    for sender in &senders {
        table.row(vec![
            TableCell::styled(&sender.channel, STRONG),
            TableCell::new(&sender.sender),
            TableCell::new(&sender.name),
            TableCell::styled(&local_time(sender.added, MOMENT), DIM),
        ]);
    }
    let to_json = |sender: &PairedSender| json!({ "channel": sender.channel, "sender": sender.sender, "name": sender.name, "since": local_time(sender.added, MOMENT) });
    output.show(|| senders.iter().map(to_json).collect::<Vec<_>>(), || table.render(output.width))
}

async fn remove(service: &ChannelService, name: &str, sender: &str, output: &Output) -> Result<Exit, Failure> {
    if !store(service)?.remove_sender(name, sender).await? {
        return Err(Failure::failed("not_found", format!("'{}' was not let in to '{name}' by a code", display::escape_line(sender)))
            .help("`haft channels senders list` lists them; senders of the configuration are in allow_from and owners"));
    }
    output.show(|| json!({ "channel": name, "removed": sender }), || format!("{} is shut out\n", display::escape_line(sender)))
}

async fn list_sent(service: &ChannelService, name: Option<&str>, limit: u64, output: &Output) -> Result<Exit, Failure> {
    let limit = usize::try_from(limit).unwrap_or(20);
    let sent = store(service)?.outgoing(name, limit, SystemTime::now()).await?;
    if sent.is_empty() {
        note("nothing was sent");
    }
    let columns = [
        ("WHEN", ColumnFit::Keep),
        ("CHANNEL", ColumnFit::Keep),
        ("TO", ColumnFit::Keep),
        ("OUTCOME", ColumnFit::Keep),
        ("TEXT OR REASON", ColumnFit::Cut),
    ];
    let mut table = Table::new(&columns);
    for record in &sent {
        let style = match record.outcome {
            Some(SendOutcome::Delivered) => GOOD,
            Some(SendOutcome::NotDelivered) => ERROR,
            Some(SendOutcome::Unknown) | None => CAUTION,
        };
        table.row(vec![
            TableCell::styled(&local_time(record.intent.created, MOMENT), DIM),
            TableCell::new(&record.intent.channel),
            TableCell::new(&record.intent.recipient),
            TableCell::styled(outcome(record), style),
            TableCell::new(&what_was_sent(record)),
        ]);
    }
    output.show(|| sent.iter().map(sent_json).collect::<Vec<_>>(), || table.render(output.width))
}

fn outcome(record: &OutgoingRecord) -> &'static str {
    record.outcome.map_or("sending", SendOutcome::as_str)
}

/// The text, or why it did not arrive; an action other than sending is named.
fn what_was_sent(record: &OutgoingRecord) -> String {
    let (action, text) = (&record.intent.action, record.reason.as_deref().unwrap_or(&record.intent.excerpt));
    match (action == ChannelAction::Send.as_str(), text.is_empty()) {
        (true, _) => text.to_owned(),
        (false, true) => format!("({action})"),
        (false, false) => format!("({action}) {text}"),
    }
}

fn sent_json(record: &OutgoingRecord) -> Value {
    let (session, call) = record.intent.origin.clone().unzip();
    json!({
        "id": record.intent.id, "channel": record.intent.channel, "to": record.intent.recipient, "action": record.intent.action,
        "text": record.intent.excerpt, "outcome": outcome(record), "reason": record.reason, "message_id": record.message,
        "session": session, "call": call, "at": local_time(record.intent.created, "%Y-%m-%dT%H:%M:%S%:z"),
    })
}
