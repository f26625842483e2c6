//! A node that is connected: calls go to it, and their results come back.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::ports::{NodeCall, NodeSummary};
use haft_contract::{ErrorKind, ToolError, ToolOutput};
use haft_text::{display, truncate};
use serde_json::json;
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::claims::{Claim, first_beyond, permitted};
use crate::frame::{About, Frame, kind, unpack};
use crate::link::{Arrival, LinkReader, LinkWriter, PING};

/// Calls that may run on one node at once.
const MAX_CALLS: usize = 64;
/// Bytes of one result.
const MAX_RESULT: usize = 32 << 20;
/// Results that nobody asked for, after which the connection ends.
const MAX_STRAY: u32 = 64;
/// Characters of a message of a node that are shown.
const MAX_TEXT: usize = 4000;

/// What came of a call.
#[derive(Debug)]
enum NodeAnswer {
    Done(ToolOutput, Vec<Claim>),
    Failed(ErrorKind, String),
    /// The node broke the protocol, in this way.
    Broken(String),
}

#[derive(Debug)]
struct AwaitedCall {
    answer: oneshot::Sender<NodeAnswer>,
    content: Vec<u8>,
}

/// A connection to a paired node.
#[derive(Debug)]
pub(crate) struct OpenNode {
    pub(crate) id: String,
    writer: AsyncMutex<LinkWriter>,
    waiting: Mutex<HashMap<u64, AwaitedCall>>,
    about: Mutex<About>,
    next: AtomicU64,
    /// Cancelled when the connection is lost or ended.
    ended: CancellationToken,
}

impl OpenNode {
    pub(crate) fn new(id: String, writer: LinkWriter, stop: &CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            id,
            writer: AsyncMutex::new(writer),
            waiting: Mutex::default(),
            about: Mutex::default(),
            next: AtomicU64::new(1),
            ended: stop.child_token(),
        })
    }

    /// The folder that its relative paths start from, as it says.
    pub(crate) fn workspace(&self) -> String {
        self.about.lock().unwrap_or_else(PoisonError::into_inner).workspace.clone()
    }

    pub(crate) fn about(&self) -> About {
        self.about.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.ended.is_cancelled()
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, AwaitedCall>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection; a node that is not paired any more is told not to come back.
    pub(crate) async fn end(&self, reason: &str, is_final: bool) {
        // First, so that no call begins any more.
        self.ended.cancel();
        let mut writer = self.writer.lock().await;
        writer.send(&Frame::Bye { reason: reason.to_owned(), is_final }, &[]).await.ok();
        writer.close().await;
    }

    /// Reads until the connection is lost; then every call that waits has its answer.
    pub(crate) async fn serve(&self, mut reader: LinkReader) -> io::Result<()> {
        let _end = EndGuard(self);
        let pings = async {
            loop {
                tokio::time::sleep(PING).await;
                self.writer.lock().await.ping().await?;
            }
        };
        let reads = async {
            let mut stray = 0;
            loop {
                match reader.next().await? {
                    Arrival::Frame(frame, body) => self.take(frame, &body, &mut stray)?,
                    Arrival::Ping(payload) => self.writer.lock().await.pong(&payload).await?,
                    Arrival::Pong => {}
                }
            }
        };
        let result: io::Result<()> = tokio::select! {
            result = reads => result,
            result = pings => result,
            () = self.ended.cancelled() => Ok(()),
        };
        if let Err(fault) = &result
            && fault.kind() == io::ErrorKind::InvalidData
        {
            self.tell_fault(&fault.to_string());
        }
        result
    }

    /// A node that breaks the protocol is cut off, and the calls that wait for it get the reason.
    fn tell_fault(&self, fault: &str) {
        for (_, call) in self.waiting().drain() {
            // Nobody may wait any more.
            call.answer.send(NodeAnswer::Broken(display::shorten(fault, 200).into_owned())).ok();
        }
    }

    fn take(&self, frame: Frame, body: &[u8], stray: &mut u32) -> io::Result<()> {
        let flood = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("the node sends {why}"));
        match frame {
            Frame::About(about) => *self.about.lock().unwrap_or_else(PoisonError::into_inner) = bounded(&about),
            Frame::Part { id } | Frame::Done { id, .. } | Frame::Failed { id, .. } if !self.waiting().contains_key(&id) => {
                // A call that was given up may still be answered; a flood of answers is something else.
                *stray += 1;
                if *stray > MAX_STRAY {
                    return Err(flood("results that nobody asked for"));
                }
            }
            Frame::Part { id } => {
                let mut waiting = self.waiting();
                let Some(call) = waiting.get_mut(&id) else { return Ok(()) };
                if call.content.len() + body.len() > MAX_RESULT {
                    return Err(flood("a result that is too large"));
                }
                call.content.extend_from_slice(body);
            }
            Frame::Done { id, content, details, effects } => {
                let Some(AwaitedCall { answer, content: mut bytes }) = self.waiting().remove(&id) else { return Ok(()) };
                bytes.extend_from_slice(body);
                match unpack(content, &bytes, details) {
                    Ok(result) => answer.send(NodeAnswer::Done(result, effects)).ok(),
                    Err(why) => {
                        answer.send(NodeAnswer::Broken(why.to_owned())).ok();
                        return Err(flood(why));
                    }
                };
            }
            Frame::Failed { id, kind: name, message } => {
                if let Some(call) = self.waiting().remove(&id) {
                    call.answer.send(NodeAnswer::Failed(kind(&name), shown_failure(&message))).ok();
                }
            }
            _ => return Err(flood("what only a gateway sends")),
        }
        Ok(())
    }

    /// Makes a call. When the future is dropped, the node is told that nobody waits.
    pub(crate) async fn call(self: Arc<Self>, call: NodeCall) -> Result<ToolOutput, ToolError> {
        check_paths(&call.effects, self.workspace())?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = self.waiting();
            if waiting.len() >= MAX_CALLS {
                return Err(ToolError::execution(format!(
                    "The node '{}' runs {MAX_CALLS} calls already. Wait for one of them.",
                    call.name
                )));
            }
            waiting.insert(id, AwaitedCall { answer, content: Vec::new() });
        }
        // A connection that ends later takes the call off the list, which is its answer.
        if !self.is_open() {
            self.waiting().remove(&id);
            return Err(unknown(&call.name, "the connection was lost"));
        }
        let guard = CallGuard { node: Some(Arc::clone(&self)), id };
        let timeout_ms = u64::try_from(call.timeout.as_millis()).unwrap_or(u64::MAX);
        let frame = Frame::Call { id, tool: call.tool, arguments: call.arguments, effects: call.effects.clone(), timeout_ms };
        let sent = self.writer.lock().await.send(&frame, &[]).await;
        if let Err(error) = sent {
            return Err(match error.kind() {
                io::ErrorKind::FileTooLarge => ToolError::validation(format!("The call was not made: {error}. Send less at a time.")),
                _ => unknown(&call.name, &error.to_string()),
            });
        }
        match timeout(call.timeout, answered).await {
            Ok(Ok(answer)) => {
                guard.disarm();
                self.checked(&call.name, &call.effects, answer)
            }
            Ok(Err(_)) => Err(unknown(&call.name, "the connection was lost")),
            Err(_) => Err(ToolError::new(
                ErrorKind::Timeout,
                format!("The node '{}' did not answer within {} seconds, and was told to stop.", call.name, call.timeout.as_secs()),
            )),
        }
    }

    /// Refuses the result of a node that says it did something else.
    fn checked(&self, name: &str, effects: &serde_json::Value, answer: NodeAnswer) -> Result<ToolOutput, ToolError> {
        match answer {
            NodeAnswer::Failed(kind, message) => Err(ToolError::new(kind, format!("On the node '{name}': {message}"))),
            NodeAnswer::Broken(fault) => {
                Err(unknown(name, &format!("a message broke the protocol ({fault}), and the connection was ended,")))
            }
            NodeAnswer::Done(output, done) => {
                let root = self.workspace();
                match first_beyond(&permitted(effects, Path::new(&root)), &done) {
                    None => Ok(output),
                    Some(beyond) => {
                        let what = display::escape_line(&display::shorten(&beyond.to_string(), 200)).into_owned();
                        Err(ToolError::execution(format!(
                            "The node '{name}' says that it did something else than was permitted ({what}). Its result is not used. \
                             Look at the node, and revoke it with `haft node revoke {name}` if you did not expect this."
                        )))
                    }
                }
            }
        }
    }
}

/// Why a call failed, as the node says it: with the lines of what a command had written.
fn shown_failure(message: &str) -> String {
    display::escape_lines(&truncate::ellipsize(message, MAX_TEXT)).into_owned()
}

/// What a node says of itself is shown, so it is bounded.
fn bounded(about: &About) -> About {
    let short = |text: &str| display::escape_line(&display::shorten(text, 200)).into_owned();
    About {
        actions: about.actions.iter().take(64).map(|action| short(action)).collect(),
        platform: short(&about.platform),
        workspace: about.workspace.chars().take(4096).collect(),
    }
}

/// Rules compare paths as they are written. Who planned a call may not have known the folder of the node.
fn check_paths(effects: &serde_json::Value, workspace: String) -> Result<(), ToolError> {
    let node = NodeSummary { workspace: Some(workspace).filter(|folder| !folder.is_empty()), ..NodeSummary::default() };
    let is_file = |effect: &&serde_json::Value| {
        let action = effect["action"].as_str().unwrap_or_default();
        effect["effect"] == "node" && ["read", "write", "list", "delete"].contains(&action)
    };
    let targets = effects.as_array().into_iter().flatten().filter(is_file).filter_map(|effect| effect["target"].as_str());
    match targets.map(|target| (target, node.path(target))).find(|(target, path)| target != path) {
        None => Ok(()),
        Some((target, path)) => {
            let (target, path) = (display::shorten(target, 200), display::shorten(&path, 200));
            Err(ToolError::validation(format!("Nothing was done: write '{path}' for '{target}', as rules name it.")))
        }
    }
}

/// The answer to a call that the node may have run.
fn unknown(name: &str, why: &str) -> ToolError {
    ToolError::execution(format!(
        "Outcome unknown: {why} while the node '{name}' had the call. The node ends what it was running when it notices; what was done \
         until then stays. Look before you repeat it."
    ))
    .with_details(json!({"outcome": "unknown", "node": name}))
}

/// Ends the connection however its task ends, so that no call waits in vain.
struct EndGuard<'a>(&'a OpenNode);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.ended.cancel();
        self.0.waiting().clear();
    }
}

/// Tells the node that nobody waits for a call any more.
struct CallGuard {
    node: Option<Arc<OpenNode>>,
    id: u64,
}

impl CallGuard {
    fn disarm(mut self) {
        self.node = None;
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let Some(node) = self.node.take() else { return };
        let id = self.id;
        node.waiting().remove(&id);
        if node.is_open() && tokio::runtime::Handle::try_current().is_ok() {
            tokio::spawn(async move { node.writer.lock().await.send(&Frame::Cancel { id }, &[]).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_keeps_its_lines_and_nothing_that_moves_the_cursor() {
        assert_eq!(shown_failure("It had written:\n\nout\u{1b}[2J"), "It had written:\n\nout\\u{1b}[2J");
        assert!(shown_failure(&"x".repeat(MAX_TEXT * 2)).chars().count() <= MAX_TEXT + 1);
    }

    #[test]
    fn path_that_rules_know_otherwise_is_not_sent() {
        let check = |action: &str, target: &str| {
            check_paths(&json!([{"effect": "node", "action": action, "target": target}]), "/srv".into())
                .map_err(|error| error.message().to_owned())
        };
        for (action, target) in
            [("read", "a/b"), ("list", "."), ("read", "/etc/x"), ("write", "../x"), ("camera_snap", "/srv/a"), ("exec", "cat ./a")]
        {
            assert_eq!(check(action, target), Ok(()), "{action} {target}");
        }
        let message = "Nothing was done: write 'private/key' for '/srv/private/key', as rules name it.";
        assert_eq!(check("read", "/srv/private/key"), Err(message.into()));
        for (action, target) in [("write", "./a"), ("delete", "x/../a"), ("list", "../srv/a"), ("read", "")] {
            assert!(check(action, target).is_err(), "{action} {target}");
        }
    }
}
