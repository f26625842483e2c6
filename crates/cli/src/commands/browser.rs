//! `haft browser`: the live view of a session's browser, and recordings of what was done in it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_browser::{RecordedSession, RecordedStep, Recordings};
use haft_text::{display, numbers};
use haft_tui::time::local_time;
use serde_json::{Value, json};

use super::mcp::login::open_browser;
use super::run::server::ServerClient;
use crate::arguments::BrowserCommand;
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, Output, note, notes_are_visible};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire;

const MOMENT: &str = "%Y-%m-%d %H:%M:%S";
/// Characters of an id that name a session.
const SHORTEST_ID: usize = 4;

pub(crate) fn run(command: &BrowserCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        BrowserCommand::Show { session, no_open } => show(session.as_deref(), !no_open, output),
        BrowserCommand::Recordings { session } => {
            let recordings = recordings(&wire::data_folder()?);
            match session {
                Some(session) => steps(&recordings, session, output),
                None => list(&recordings, output),
            }
        }
    }
}

/// The recordings of the browser in a data folder.
pub(crate) fn recordings(data_folder: &Path) -> Recordings {
    Recordings::new(data_folder.join(wire::RECORDINGS))
}

fn show(wanted: Option<&str>, opens: bool, output: &Output) -> Result<Exit, Failure> {
    let help = "`haft serve` starts one; the live view shows the browsers of sessions that run in it";
    let client = ServerClient::find("").map_err(|failure| failure.help(help))?;
    let answer = block_on(client.send(reqwest::Method::GET, "/api/browsers", None))?;
    let found = answer["browsers"].as_array().cloned().unwrap_or_default();
    let id = |browser: &Value| browser["session"].as_str().unwrap_or_default().to_owned();
    let fits = |browser: &&Value| wanted.is_none_or(|wanted| is_named(&id(browser), wanted));
    let fitting: Vec<&Value> = found.iter().filter(fits).collect();
    let browser = match fitting.as_slice() {
        [browser] => *browser,
        [] => return Err(no_browser(wanted, &found.iter().map(id).collect::<Vec<_>>())),
        several => {
            let list: Vec<String> =
                several.iter().map(|browser| format!("{} ({})", id(browser), display::escape_line(&short(&browser["url"])))).collect();
            return Err(Failure::usage(format!("several sessions have a browser: {}", list.join(", ")))
                .help("name one: `haft browser show SESSION`"));
        }
    };
    let link = format!("{}/#/browser/{}", client.url(), id(browser));
    let shown = output.show(|| json!({ "link": link, "session": id(browser), "url": browser["url"] }), || format!("{link}\n"))?;
    note("The page must be signed in: open the link that `haft serve` printed first.");
    if opens && notes_are_visible() {
        open_browser(&link);
    }
    Ok(shown)
}

fn short(value: &Value) -> String {
    display::shorten(value.as_str().unwrap_or_default(), 80).into_owned()
}

fn no_browser(wanted: Option<&str>, running: &[String]) -> Failure {
    let failure = match wanted {
        Some(wanted) => format!("the session '{}' has no browser that runs in the server", display::escape_line(wanted)),
        None => "no browser runs in the server".to_owned(),
    };
    let help = if running.is_empty() {
        "a browser starts when a model opens a page in a session of the server; `haft browser recordings` shows past ones".to_owned()
    } else {
        format!("these have one: {}", running.join(", "))
    };
    Failure::failed("not_found", failure).help(help)
}

fn is_named(id: &str, wanted: &str) -> bool {
    id == wanted || (wanted.len() >= SHORTEST_ID && id.starts_with(wanted))
}

fn time(milliseconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
}

fn list(recordings: &Recordings, output: &Output) -> Result<Exit, Failure> {
    let sessions = recordings.sessions();
    if sessions.is_empty() && !output.json {
        note("nothing was recorded; a recording begins when a model opens a page");
        return Ok(Exit::Success);
    }
    let data = || {
        sessions
            .iter()
            .map(|found| json!({"session": found.session, "steps": found.steps, "began": found.times.0, "ended": found.times.1}))
            .collect::<Vec<_>>()
    };
    let text = || {
        let mut table = Table::new(&[
            ("SESSION", ColumnFit::Keep),
            ("STEPS", ColumnFit::Keep),
            ("BEGAN", ColumnFit::Keep),
            ("ENDED", ColumnFit::Drop(1)),
        ]);
        for RecordedSession { session, steps, times } in &sessions {
            let moment = |at| TableCell::styled(&local_time(time(at), MOMENT), DIM);
            table.row(vec![
                TableCell::new(session),
                TableCell::new(&numbers::group_digits(*steps as u64)),
                moment(times.0),
                moment(times.1),
            ]);
        }
        table.render(output.width)
    };
    output.show(data, text)
}

fn steps(recordings: &Recordings, wanted: &str, output: &Output) -> Result<Exit, Failure> {
    let sessions = recordings.sessions();
    let fitting: Vec<&RecordedSession> = match wanted {
        "last" => sessions.iter().take(1).collect(),
        _ => sessions.iter().filter(|found| is_named(&found.session, wanted)).collect(),
    };
    let session = match fitting.as_slice() {
        [found] => found.session.as_str(),
        [] => {
            return Err(Failure::failed("not_found", format!("the session '{}' has no recording", display::escape_line(wanted)))
                .help("`haft browser recordings` lists all of them; old ones are removed (retention.spills)"));
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|found| found.session.as_str()).collect();
            return Err(Failure::usage(format!("'{}' can mean several: {}", display::escape_line(wanted), ids.join(", "))));
        }
    };
    let steps = recordings.steps(session);
    let file = |step: &RecordedStep| recordings.picture_file(session, step.number).filter(|_| step.has_picture);
    let data = || {
        let one = |step: &RecordedStep| {
            let mut value = json!(step);
            value["picture"] = json!(file(step));
            value
        };
        json!({ "session": session, "steps": steps.iter().map(one).collect::<Vec<_>>() })
    };
    let text = || {
        let mut table = Table::new(&[
            ("#", ColumnFit::Keep),
            ("WHEN", ColumnFit::Drop(2)),
            ("ACTION", ColumnFit::Keep),
            ("PAGE", ColumnFit::Drop(1)),
            ("PICTURE", ColumnFit::Keep),
        ]);
        for step in &steps {
            let picture = file(step).map(|path| path.display().to_string()).unwrap_or_default();
            let failed = if step.is_done { String::new() } else { format!(": {}", step.outcome) };
            let action = format!("{}{failed}", step.action);
            let action = display::escape_line(&action);
            let cell = if step.is_done { TableCell::new(&action) } else { TableCell::styled(&action, CAUTION) };
            table.row(vec![
                TableCell::new(&step.number.to_string()),
                TableCell::styled(&local_time(time(step.at), MOMENT), DIM),
                cell,
                TableCell::new(&display::escape_line(&step.url)),
                TableCell::new(&picture),
            ]);
        }
        table.render(None)
    };
    output.show(data, text)
}
