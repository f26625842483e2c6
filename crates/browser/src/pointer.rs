//! The mouse: clicks, hovering, dragging.

use std::time::Duration;

use haft_contract::ToolError;
use haft_contract::ports::MouseButton;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::devtools::{DevTools, PendingReply};
use crate::failure::PageError;
use crate::page::{ElementHandle, TabHandle};
use crate::snapshot::number;

/// Frames in each other.
const DEEPEST_FRAME: usize = 20;
/// Steps between the ends of a drag: pages look at how far the mouse has moved.
const DRAG_STEPS: u32 = 5;
/// How long the browser may take to tell that something is dragged.
const DRAG_START: Duration = Duration::from_secs(3);
/// Where the content of a frame begins in its parent.
const CONTENT_ORIGIN: &str = "function () { const box = this.getBoundingClientRect(), style = getComputedStyle(this); \
     return { x: box.x + this.clientLeft + parseFloat(style.paddingLeft), y: box.y + this.clientTop + parseFloat(style.paddingTop) }; }";

/// A point in the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A click.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClickKind {
    pub(crate) button: MouseButton,
    pub(crate) is_double: bool,
    pub(crate) modifiers: u32,
}

impl Browser {
    /// A point in the window that leads to an element. Waits until the element can be clicked.
    pub(crate) async fn point(
        &self,
        tab: &TabHandle,
        element: &ElementHandle,
        enabled: bool,
        patience: Duration,
    ) -> Result<Point, PageError> {
        let call = format!("point({}, {enabled}, {})", element.number, patience.as_millis());
        let found = self.element_script(tab, element, &call).await?;
        let inner = Point { x: number(&found, "x"), y: number(&found, "y") };
        self.in_window(tab, &element.frame, inner).await
    }

    /// A point of a frame as a point of the window.
    pub(crate) async fn in_window(&self, tab: &TabHandle, frame: &str, mut point: Point) -> Result<Point, PageError> {
        let mut frame = frame.to_owned();
        for _ in 0..DEEPEST_FRAME {
            if frame == tab.target {
                return Ok(point);
            }
            let parent =
                self.state.lock().tab(&tab.target).and_then(|tab| tab.frames.get(&frame)?.parent.clone()).ok_or(PageError::Gone)?;
            let context = self.context(tab, &parent).await?;
            let owner = self.devtools.call(Some(&context.session), "DOM.getFrameOwner", json!({"frameId": frame})).await?;
            let resolve = json!({"backendNodeId": owner["backendNodeId"], "executionContextId": context.id});
            let resolved = self.devtools.call(Some(&context.session), "DOM.resolveNode", resolve).await?;
            let call = json!({"objectId": resolved["object"]["objectId"], "functionDeclaration": CONTENT_ORIGIN, "returnByValue": true});
            let origin = self.devtools.call(Some(&context.session), "Runtime.callFunctionOn", call).await?;
            let origin = &origin["result"]["value"];
            point = Point { x: point.x + number(origin, "x"), y: point.y + number(origin, "y") };
            frame = parent;
        }
        Err(PageError::Gone)
    }

    /// Clicks at a point.
    pub(crate) async fn click_at(&self, tab: &TabHandle, point: Point, click: ClickKind) -> Result<(), PageError> {
        let mut sent = vec![self.mouse(tab, "mouseMoved", point, json!({"modifiers": click.modifiers}))];
        for count in 1..=if click.is_double { 2 } else { 1 } {
            for kind in ["mousePressed", "mouseReleased"] {
                let rest = json!({"button": click.button.as_str(), "clickCount": count, "modifiers": click.modifiers});
                sent.push(self.mouse(tab, kind, point, rest));
            }
        }
        for pending in sent {
            match pending.raw().await.map_err(PageError::from) {
                // What is clicked may close its tab.
                Ok(_) | Err(PageError::Gone) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves the mouse.
    pub(crate) async fn move_to(&self, tab: &TabHandle, point: Point) -> Result<(), PageError> {
        self.mouse(tab, "mouseMoved", point, json!({})).raw().await.map_err(PageError::from)?;
        Ok(())
    }

    /// Drags from one point to another, as the page wants it: by the events of the mouse, or by those of drag and drop.
    pub(crate) async fn drag(&self, tab: &TabHandle, frame: &str, from: Point, to: Point) -> Result<(), PageError> {
        let session = Some(tab.session.as_str());
        self.devtools.call(session, "Input.setInterceptDrags", json!({"enabled": true})).await?;
        if let Some(tab) = self.state.lock().tab_mut(&tab.target) {
            tab.drag = None;
        }
        let dragged = self.drag_intercepted(tab, frame, from, to).await;
        self.devtools.call(session, "Input.setInterceptDrags", json!({"enabled": false})).await?;
        dragged
    }

    async fn drag_intercepted(&self, tab: &TabHandle, frame: &str, from: Point, to: Point) -> Result<(), PageError> {
        let held = json!({"button": "left", "buttons": 1});
        self.script(tab, frame, "watchDrag()").await?;
        self.move_to(tab, from).await?;
        self.mouse(tab, "mousePressed", from, json!({"button": "left", "clickCount": 1})).raw().await.map_err(PageError::from)?;
        let mut moves = Vec::new();
        for step in 1..=DRAG_STEPS {
            let part = f64::from(step) / f64::from(DRAG_STEPS);
            let at = Point { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
            moves.push(self.mouse(tab, "mouseMoved", at, held.clone()));
        }
        for pending in moves {
            pending.raw().await.map_err(PageError::from)?;
        }
        // A page that drags by the events of the mouse alone begins no drag of the browser, which would be told a moment later.
        let is_begun = self.script(tab, frame, "hasDragBegun()").await? == Value::Bool(true);
        let intercepted = self.state.until(|state| state.tab_mut(&tab.target).and_then(|tab| tab.drag.take()));
        let data = if is_begun { tokio::time::timeout(DRAG_START, intercepted).await.ok() } else { None };
        if let Some(data) = data {
            for kind in ["dragEnter", "dragOver", "drop"] {
                let event = json!({"type": kind, "x": to.x, "y": to.y, "data": data});
                self.devtools.call(Some(&tab.session), "Input.dispatchDragEvent", event).await?;
            }
        }
        let release = json!({"button": "left", "clickCount": 1});
        self.mouse(tab, "mouseReleased", to, release).raw().await.map_err(PageError::from)?;
        Ok(())
    }

    fn mouse(&self, tab: &TabHandle, kind: &str, at: Point, rest: Value) -> PendingReply {
        send_mouse(&self.devtools, tab, kind, at, rest)
    }
}

/// Sends what the mouse does.
pub(crate) fn send_mouse(devtools: &DevTools, tab: &TabHandle, kind: &str, at: Point, rest: Value) -> PendingReply {
    let mut event = json!({"type": kind, "x": at.x, "y": at.y});
    if let (Some(event), Value::Object(rest)) = (event.as_object_mut(), rest) {
        event.extend(rest);
    }
    devtools.send(Some(&tab.session), "Input.dispatchMouseEvent", event)
}

/// The bits of the keys that are held.
pub(crate) fn modifier_bits(names: &[String]) -> Result<u32, ToolError> {
    names.iter().try_fold(0, |bits, name| {
        let bit = match name.to_ascii_lowercase().as_str() {
            "alt" | "option" => 1,
            "control" | "ctrl" | "controlormeta" => 2,
            "meta" | "cmd" | "command" => 4,
            "shift" => 8,
            _ => return Err(ToolError::validation(format!("'{name}' is not a key to hold: use Alt, Control, Meta or Shift."))),
        };
        Ok(bits | bit)
    })
}
