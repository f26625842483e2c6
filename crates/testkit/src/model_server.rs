//! A model server on loopback that says what it was told to, in whichever of the four protocols it is asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// What the model does when it is asked.
#[derive(Debug, Clone)]
pub enum Round {
    /// Says something, and is done.
    Text(String),
    /// Asks for tools: id, name, arguments.
    Calls(Vec<(String, String, Value)>),
    /// Answers with this status and body instead.
    Status(u16, String),
}

/// One request that came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path, with the query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

/// The server. It lives as long as the process; its thread ends with the listener.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ModelServer {
    /// A server that goes through these rounds, one for each request, and says "nothing left" after the last.
    pub fn start(rounds: Vec<Round>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let rounds = Mutex::new(rounds.into_iter());
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let mut next = || rounds.lock().unwrap_or_else(PoisonError::into_inner).next();
                // A client that went away is its own business.
                serve(&connection, &seen, &mut next).ok();
            }
        });
        Ok(Self { address, asked })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(mut connection: &TcpStream, seen: &Mutex<Vec<Asked>>, next: &mut dyn FnMut() -> Option<Round>) -> std::io::Result<()> {
    let asked = read(connection)?;
    let round = next().unwrap_or_else(|| Round::Text("nothing left".into()));
    let (status, kind, body) = match round {
        Round::Status(status, body) => (status, "application/json", body),
        round => (200, "text/event-stream", stream(&asked.path, &round)),
    };
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    write!(connection, "HTTP/1.1 {status} OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn read(connection: &TcpStream) -> std::io::Result<Asked> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Asked { path, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// A round in the protocol that the path belongs to.
fn stream(path: &str, round: &Round) -> String {
    match path {
        path if path.contains("/chat/completions") => chat(round),
        path if path.contains("/responses") => responses(round),
        path if path.contains("/messages") => messages(round),
        _ => gemini(round),
    }
}

fn data(events: &[Value]) -> String {
    events.iter().fold(String::new(), |text, event| text + &format!("data: {event}\n\n"))
}

fn named(events: &[Value]) -> String {
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events.iter().fold(String::new(), |text, event| text + &format!("event: {}\ndata: {event}\n\n", name(event)))
}

fn chat(round: &Round) -> String {
    let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut events = Vec::new();
    match round {
        Round::Calls(calls) => {
            for (index, (id, name, arguments)) in calls.iter().enumerate() {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                let call = json!({"index": index, "id": id, "type": "function", "function": function});
                events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
            }
            events.push(chunk(json!({}), json!("tool_calls")));
        }
        other => {
            events.push(chunk(json!({"content": text(other)}), Value::Null));
            events.push(chunk(json!({}), json!("stop")));
        }
    }
    events.push(json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}));
    data(&events) + "data: [DONE]\n\n"
}

fn responses(round: &Round) -> String {
    let mut events = vec![json!({"type": "response.created", "response": {"id": "resp_1"}})];
    match round {
        Round::Calls(calls) => {
            for (index, (id, name, arguments)) in calls.iter().enumerate() {
                let item = json!({
                    "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
                    "arguments": arguments.to_string(), "status": "completed",
                });
                let mut begun = item.clone();
                begun["arguments"] = json!("");
                events.push(json!({"type": "response.output_item.added", "output_index": index, "item": begun}));
                events.push(json!({
                    "type": "response.function_call_arguments.done", "output_index": index, "item_id": format!("fc_{id}"),
                    "arguments": arguments.to_string(),
                }));
                events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
            }
        }
        other => {
            let part = json!({"type": "output_text", "text": text(other)});
            let item = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]});
            let mut begun = item.clone();
            begun["content"] = json!([]);
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": begun}));
            events.push(json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": text(other)}));
            events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
        }
    }
    let usage = json!({"input_tokens": 7, "output_tokens": 3, "total_tokens": 10});
    events.push(json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage}}));
    named(&events)
}

fn messages(round: &Round) -> String {
    let usage = json!({"input_tokens": 7, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": usage}})];
    let mut block = |index: usize, start: Value, delta: Value| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    };
    let stop = match round {
        Round::Calls(calls) => {
            for (index, (id, name, arguments)) in calls.iter().enumerate() {
                let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                block(index, start, json!({"type": "input_json_delta", "partial_json": arguments.to_string()}));
            }
            "tool_use"
        }
        other => {
            block(0, json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text(other)}));
            "end_turn"
        }
    };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3}}));
    events.push(json!({"type": "message_stop"}));
    named(&events)
}

fn gemini(round: &Round) -> String {
    let parts: Vec<Value> = match round {
        Round::Calls(calls) => calls
            .iter()
            .enumerate()
            .map(|(index, (id, name, arguments))| {
                let mut part = json!({"functionCall": {"id": id, "name": name, "args": arguments}});
                if index == 0 {
                    part["thoughtSignature"] = json!("c2lnbmF0dXJl");
                }
                part
            })
            .collect(),
        other => vec![json!({"text": text(other)})],
    };
    let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0});
    data(&[json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3}})])
}

fn text(round: &Round) -> &str {
    if let Round::Text(text) = round { text } else { "" }
}
