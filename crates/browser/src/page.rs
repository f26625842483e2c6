//! The page script, and how it is called in a frame.

use haft_contract::ToolError;
use haft_text::display;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::devtools::DevToolsError;
use crate::failure::{PageError, is_replaced};
use crate::state::{ScriptContext, Tab};

/// Runs in an isolated world of every frame: it shares the document with the page, and no variable. The page can neither see nor change it.
pub(crate) const SCRIPT: &str = concat!(
    "(() => {\nif (globalThis.haft) return;\n",
    include_str!("page/elements.js"),
    include_str!("page/roles.js"),
    include_str!("page/text.js"),
    include_str!("page/unseen.js"),
    include_str!("page/shadow.js"),
    include_str!("page/tree.js"),
    include_str!("page/snapshot.js"),
    include_str!("page/acts.js"),
    include_str!("page/waiting.js"),
    include_str!("page/pictures.js"),
    include_str!("page/exports.js"),
    "})();\n"
);
/// The name of that world.
pub(crate) const WORLD: &str = "haft";
/// How often a call is made again because the document was replaced meanwhile.
const TRIES: usize = 4;

/// A tab, as actions name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TabHandle {
    pub(crate) target: String,
    pub(crate) id: String,
    pub(crate) session: String,
}

impl From<&Tab> for TabHandle {
    fn from(tab: &Tab) -> Self {
        Self { target: tab.target.clone(), id: tab.id.clone(), session: tab.session.clone() }
    }
}

/// An element of a frame, by the number that it has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementHandle {
    /// The id of the frame.
    pub(crate) frame: String,
    pub(crate) number: u64,
    /// As the model wrote it.
    pub(crate) reference: String,
}

/// The numbers of a ref: `e12`, or `f2e12` for an element of the frame 2.
pub(crate) fn parse_reference(reference: &str) -> Option<(u32, u64)> {
    let text = reference.trim().trim_start_matches('@').trim_start_matches("ref=").trim_matches(['[', ']', '"']);
    let (frame, element) = match text.strip_prefix('f') {
        Some(rest) => rest.split_once('e')?,
        None => ("0", text.strip_prefix('e').unwrap_or(text)),
    };
    Some((frame.parse().ok()?, element.parse().ok()?))
}

impl Browser {
    /// The element that a ref names, in a frame that is there.
    pub(crate) fn element(&self, tab: &TabHandle, reference: &str) -> Result<ElementHandle, ToolError> {
        let Some((frame, number)) = parse_reference(reference) else {
            let shown = display::shorten(reference, 60);
            return Err(ToolError::validation(format!("'{shown}' is not a ref. Refs look like e12 or f1e3, and come from a snapshot.")));
        };
        let state = self.state.lock();
        let found = state.tab(&tab.target).and_then(|tab| tab.frame_numbered(frame)).map(str::to_owned);
        drop(state);
        let frame = found.ok_or_else(|| PageError::Stale.about(reference))?;
        Ok(ElementHandle { frame, number, reference: reference.trim().to_owned() })
    }

    /// Calls the page script in a frame, again if the document is replaced meanwhile.
    pub(crate) async fn script(&self, tab: &TabHandle, frame: &str, call: &str) -> Result<Value, PageError> {
        self.evaluate(tab, frame, &format!("haft.{call}"), true).await
    }

    /// Calls the page script for an element.
    pub(crate) async fn element_script(&self, tab: &TabHandle, element: &ElementHandle, call: &str) -> Result<Value, PageError> {
        self.script(tab, &element.frame, call).await
    }

    /// The remote object of an element.
    pub(crate) async fn object(&self, tab: &TabHandle, element: &ElementHandle) -> Result<String, PageError> {
        self.remote_object(tab, &element.frame, &format!("haft.element({})", element.number)).await
    }

    /// The remote object that an expression gives.
    pub(crate) async fn remote_object(&self, tab: &TabHandle, frame: &str, expression: &str) -> Result<String, PageError> {
        let found = self.evaluate(tab, frame, expression, false).await?;
        found.as_str().map(str::to_owned).ok_or(PageError::Stale)
    }

    async fn evaluate(&self, tab: &TabHandle, frame: &str, expression: &str, by_value: bool) -> Result<Value, PageError> {
        let mut last = PageError::Gone;
        for _ in 0..TRIES {
            let context = self.context(tab, frame).await?;
            let params = json!({
                "expression": expression, "uniqueContextId": context.unique, "awaitPromise": true, "returnByValue": by_value, "userGesture": true,
            });
            let reply = tokio::select! {
                reply = self.devtools.call(Some(&context.session), "Runtime.evaluate", params) => reply,
                // A document that was replaced may never answer.
                () = self.replaced(tab, frame, &context) => Err(DevToolsError::Refused("context was destroyed".to_owned())),
            };
            match reply {
                Ok(reply) => return evaluated(reply, by_value),
                Err(error) => {
                    let error = PageError::from(error);
                    match &error {
                        PageError::Refused(why) if is_replaced(why) => self.forget_context(tab, frame, &context),
                        _ => return Err(error),
                    }
                    last = error;
                }
            }
        }
        Err(last)
    }

    /// Where the page script runs in a frame.
    pub(crate) async fn context(&self, tab: &TabHandle, frame: &str) -> Result<ScriptContext, PageError> {
        let session = {
            let state = self.state.lock();
            let found = state.tab(&tab.target).ok_or(PageError::Gone)?;
            if found.is_crashed {
                return Err(PageError::Refused(format!("the page in tab {} has crashed: open it again with action=navigate", tab.id)));
            }
            if let Some(context) = found.frames.get(frame).and_then(|frame| frame.context.clone()) {
                return Ok(context);
            }
            found.session_of(frame)
        };
        let world = json!({"frameId": frame, "worldName": WORLD});
        let created = self.devtools.call(Some(&session), "Page.createIsolatedWorld", world).await?;
        let id = created["executionContextId"].as_i64().ok_or(PageError::Gone)?;
        let define = json!({"expression": SCRIPT, "contextId": id});
        self.devtools.call(Some(&session), "Runtime.evaluate", define).await?;
        // Its event came before the answer.
        let context = self.state.lock().tab(&tab.target).and_then(|tab| tab.frames.get(frame)?.context.clone());
        context.ok_or(PageError::Gone)
    }

    /// Waits until a document is no longer the one of its frame, or has crashed.
    async fn replaced(&self, tab: &TabHandle, frame: &str, context: &ScriptContext) {
        let is_current = |tab: &Tab| !tab.is_crashed && tab.frames.get(frame).is_some_and(|frame| frame.context.as_ref() == Some(context));
        self.state.until(|state| state.tab(&tab.target).is_none_or(|tab| !is_current(tab)).then_some(())).await;
    }

    fn forget_context(&self, tab: &TabHandle, frame: &str, ended: &ScriptContext) {
        let mut state = self.state.lock();
        let frame = state.tab_mut(&tab.target).and_then(|tab| tab.frames.get_mut(frame));
        if let Some(frame) = frame.filter(|frame| frame.context.as_ref() == Some(ended)) {
            frame.context = None;
        }
    }
}

fn evaluated(mut reply: Value, by_value: bool) -> Result<Value, PageError> {
    if let Some(details) = reply.get("exceptionDetails") {
        let description = details["exception"]["description"].as_str().or(details["text"].as_str()).unwrap_or_default();
        if is_replaced(description) {
            return Err(PageError::Gone);
        }
        return Err(PageError::from_exception(description));
    }
    Ok(if by_value { reply["result"]["value"].take() } else { reply["result"]["objectId"].take() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_read_as_models_write_them() {
        for (text, expected) in [
            ("e12", Some((0, 12))),
            (" e12 ", Some((0, 12))),
            ("12", Some((0, 12))),
            ("@e3", Some((0, 3))),
            ("ref=e3", Some((0, 3))),
            ("[ref=e3]", None),
            ("f2e7", Some((2, 7))),
            ("f2", None),
            ("", None),
            ("button", None),
            ("e-1", None),
            ("e99999999999999999999", None),
        ] {
            assert_eq!(parse_reference(text), expected, "{text:?}");
        }
    }
}
