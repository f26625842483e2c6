//! `haft run --server`: the turn runs in a server that `haft serve` started, and is shown here.

use std::io::Write;

use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use haft_text::display;
use serde_json::{Value, json};

use super::server_lines::ServerLines;
use crate::arguments::RunArgs;
use crate::commands::block_on;
use crate::commands::serve::SERVER_FILE;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note};
use crate::wire;

/// The variable with a token for `--server`.
const TOKEN: &str = "HAFT_GATEWAY_TOKEN";

/// Sends the prompt, and shows the turn until its end.
pub(super) fn run(request: &RunArgs, named: &str, prompt: &str, output: &Output) -> Result<Exit, Failure> {
    let client = ServerClient::find(named)?;
    block_on(async {
        let session = match &request.session {
            Some(id) => client.send(reqwest::Method::GET, &format!("/api/sessions/{id}"), None).await?,
            None => client.send(reqwest::Method::POST, "/api/sessions", Some(&json!({ "model": request.model }))).await?,
        };
        let id = session["id"].as_str().unwrap_or_default().to_owned();
        // The stream is open before the message is sent, so nothing of the turn is missed.
        let mut events =
            Box::pin(client.request(reqwest::Method::GET, &format!("/api/events?session={id}"), None).await?.bytes_stream().eventsource());
        let files: Vec<_> = request.files.iter().map(|file| file.to_string_lossy()).collect();
        let message = json!({ "text": prompt, "files": files });
        let mut lines = ServerLines::default();
        if output.json {
            print_line(&ServerLines::start(&id, &client.model_of(request.model.as_deref(), &session).await?))?;
        }
        client.send(reqwest::Method::POST, &format!("/api/sessions/{id}/messages"), Some(&message)).await?;
        let ended = loop {
            let Some(event) = events.next().await else {
                let failure = Failure::failed("execution_error", "the server ended the stream");
                break Err(failure.help(format!("the turn may continue: `haft sessions show {id}`")));
            };
            let Ok(event) = event else { break Err(Failure::failed("execution_error", "the connection to the server broke")) };
            let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
            if output.json {
                lines.of_event(&event.event, &data).iter().try_for_each(print_line)?;
            }
            match show(&event.event, &data, output) {
                Ok(None) => {}
                Ok(Some(exit)) => return Ok(exit),
                Err(failure) => break Err(failure),
            }
        };
        if let (true, Err(failure)) = (output.json, &ended) {
            lines.break_off(&failure.message).iter().try_for_each(print_line)?;
        }
        ended
    })
}

/// Shows an event; the exit code at the end of the turn.
fn show(name: &str, data: &Value, output: &Output) -> Result<Option<Exit>, Failure> {
    let item = &data["item"];
    match name {
        "text" if !output.json => write_text(data["delta"].as_str().unwrap_or_default())?,
        "approval" => {
            let (tool, title) = (&data["approval"]["tool"], &data["approval"]["title"]);
            note(&format!("{} {} waits for your approval on the page of the server", text(tool), text(title)));
        }
        "call" if data["call"]["record"].is_string() && !output.json => {
            let call = &data["call"];
            note(&format!(
                "{DIM}{} {} · {} · {}{DIM:#}",
                text(&call["tool"]),
                text(&call["title"]),
                text(&call["state"]),
                text(&call["outcome"])
            ));
        }
        "item" if item["type"] == "turn_end" => {
            if !output.json {
                write_text("\n")?;
            }
            if let Some(error) = item["error"].as_str() {
                note(&display::escape_lines(error));
            }
            let is_done = matches!(item["reason"].as_str(), Some("done" | "max_tokens"));
            return Ok(Some(if is_done { Exit::Success } else { Exit::Failed }));
        }
        "bye" => {
            if !output.json {
                write_text("\n")?;
            }
            let failure = Failure::failed("execution_error", format!("the server ended: {}", text(&data["reason"])));
            return Err(failure.help("what ran was cancelled; `haft history` shows it, and `haft serve` starts the server again"));
        }
        _ => {}
    }
    Ok(None)
}

fn text(value: &Value) -> String {
    display::escape_line(value.as_str().unwrap_or_default()).into_owned()
}

fn print_line(line: &Value) -> Result<(), Failure> {
    write_out(&format!("{line}\n"))
}

/// Text of the model goes to standard output as it comes.
fn write_text(text: &str) -> Result<(), Failure> {
    write_out(&display::escape_lines(text))
}

fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::failed("execution_error", format!("standard output cannot be written: {error}")))
}

/// A server of this machine.
pub(in crate::commands) struct ServerClient {
    url: String,
    token: String,
    http: reqwest::Client,
}

impl ServerClient {
    /// The named server, or the one that runs for this user.
    pub(in crate::commands) fn find(named: &str) -> Result<Self, Failure> {
        let known = || -> Option<Value> {
            let text = std::fs::read_to_string(wire::data_folder().ok()?.join("run").join(SERVER_FILE)).ok()?;
            serde_json::from_str(&text).ok()
        };
        let known = known().unwrap_or_default();
        let url = if named.is_empty() { known["url"].as_str().unwrap_or_default() } else { named.trim_end_matches('/') }.to_owned();
        if url.is_empty() {
            return Err(
                Failure::failed("not_found", "no server runs for this user").help("`haft serve` starts one; --server URL names another")
            );
        }
        let is_safe = ["https://", "http://127.0.0.1:", "http://localhost:", "http://[::1]:"].iter().any(|start| url.starts_with(start));
        if !is_safe {
            return Err(Failure::usage(format!("'{}' is no server of this machine", display::escape_line(&url)))
                .help("a token is not sent to other machines without encryption; use https, or a tunnel such as `ssh -L`"));
        }
        let of_file = known["token"].as_str().filter(|_| known["url"] == url.as_str()).map(str::to_owned);
        let token = std::env::var(TOKEN).ok().or(of_file);
        let token =
            token.ok_or_else(|| Failure::usage("there is no token for this server").help(format!("set {TOKEN}; the page makes tokens")))?;
        // Only the first call counts; the client wants it although nothing here is encrypted.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        let http = http.map_err(|error| Failure::failed("execution_error", format!("no HTTP client can be made: {error}")))?;
        Ok(Self { url, token, http })
    }

    pub(in crate::commands) fn url(&self) -> &str {
        &self.url
    }

    pub(in crate::commands) async fn send(&self, method: reqwest::Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let failed = |error: reqwest::Error| Failure::failed("execution_error", format!("the answer of the server broke off: {error}"));
        let text = self.request(method, path, body).await?.text().await.map_err(failed)?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// The model that answers.
    async fn model_of(&self, named: Option<&str>, session: &Value) -> Result<Value, Failure> {
        match named.or(session["model"].as_str()) {
            Some(name) => Ok(json!(name)),
            None => Ok(self.send(reqwest::Method::GET, "/api/me", None).await?["model"].clone()),
        }
    }

    async fn request(&self, method: reqwest::Method, path: &str, body: Option<&Value>) -> Result<reqwest::Response, Failure> {
        let mut request = self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let unreachable = |error: reqwest::Error| {
            Failure::failed("execution_error", format!("the server at {} cannot be reached: {error}", self.url))
                .help("`haft serve` starts one")
        };
        let response = request.send().await.map_err(unreachable)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let error: Value = serde_json::from_str(&response.text().await.unwrap_or_default()).unwrap_or_default();
        let failure = Failure::failed("server_error", format!("the server refused: {}", text(&error["message"])));
        Err(match error["help"].as_str() {
            Some(help) => failure.help(help),
            None => failure,
        })
    }
}
