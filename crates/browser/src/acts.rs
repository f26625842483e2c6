//! What is done on a page.

use std::time::Duration;

use haft_contract::ToolError;
use haft_contract::ports::{BrowserReply, FieldValue, MouseButton, PageAct};
use haft_text::display;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::failure::PageError;
use crate::keys::Key;
use crate::page::{ElementHandle, TabHandle};
use crate::pointer::{ClickKind, modifier_bits};

/// How much of the time of an action its element may take to become usable.
const MOST_PATIENCE: Duration = Duration::from_secs(10);
/// What is left for the action itself.
const RESERVE: Duration = Duration::from_secs(1);
/// How long the page that an action leads to is waited for.
const NEXT_PAGE: Duration = Duration::from_secs(10);
/// Characters of what a script returns.
const LONGEST_VALUE: usize = 20_000;
/// The sizes that a window may have.
const SIZES: std::ops::RangeInclusive<u32> = 100..=4000;

impl Browser {
    /// Does it, and waits for what it leads to.
    pub(crate) async fn act_on_page(&self, tab: &TabHandle, act: &PageAct, timeout: Duration) -> Result<BrowserReply, ToolError> {
        let patience = timeout.saturating_sub(RESERVE).min(MOST_PATIENCE);
        let done = match act {
            PageAct::Click { element, button, double, modifiers } => {
                let click = ClickKind { button: *button, is_double: *double, modifiers: modifier_bits(modifiers)? };
                self.click(tab, element, click, patience).await?
            }
            PageAct::Type { element, text, submit, slowly } => self.type_text(tab, element, text, *submit, *slowly, patience).await?,
            PageAct::Press { key, element } => self.press_key(tab, key, element.as_deref()).await?,
            PageAct::Hover { element } => self.hover(tab, element, patience).await?,
            PageAct::Drag { from, to } => self.drag_element(tab, from, to, patience).await?,
            PageAct::Select { element, values } => self.select(tab, element, values).await?,
            PageAct::Fill(fields) => self.fill(tab, fields, patience).await?,
            PageAct::Wait(condition) => return self.wait(tab, condition, timeout).await,
            PageAct::Resize { width, height } => self.resize(tab, *width, *height).await?,
            PageAct::Evaluate { function, element } => return self.run_script(tab, function, element.as_deref()).await,
            PageAct::Close => return self.close(tab).await,
        };
        self.settle(tab).await;
        if self.tab(Some(&tab.target)).is_err() {
            let text = format!("{done}, which closed the tab {}.", tab.id);
            return Ok(BrowserReply { text, details: json!({"tab": tab.id, "closed": true}), ..BrowserReply::default() });
        }
        Ok(self.arrived(tab, &done))
    }

    async fn click(&self, tab: &TabHandle, reference: &str, click: ClickKind, patience: Duration) -> Result<String, ToolError> {
        let element = self.element(tab, reference)?;
        let clicked = async {
            if self.is_option(tab, &element).await? {
                return self.element_script(tab, &element, &format!("select({}, [])", element.number)).await.map(drop);
            }
            let point = self.point(tab, &element, true, patience).await?;
            self.click_at(tab, point, click).await
        };
        match clicked.await {
            Ok(()) => Ok(format!("Clicked {}", element.reference)),
            Err(error) => Err(self.element_error(tab, &element.reference, error).await),
        }
    }

    /// Options of a list are drawn by the browser, where no click of ours leads.
    async fn is_option(&self, tab: &TabHandle, element: &ElementHandle) -> Result<bool, PageError> {
        Ok(self.element_script(tab, element, &format!("isOption({})", element.number)).await? == Value::Bool(true))
    }

    async fn type_text(
        &self,
        tab: &TabHandle,
        reference: &str,
        text: &str,
        submit: bool,
        slowly: bool,
        patience: Duration,
    ) -> Result<String, ToolError> {
        let element = self.element(tab, reference)?;
        let typed = async {
            self.fill_field(tab, &element, text, slowly, patience).await?;
            if submit {
                self.press(tab, &Key::character('\n', 0)).await?;
            }
            Ok(())
        };
        match typed.await {
            Ok(()) => Ok(format!("Typed into {}{}", element.reference, if submit { " and pressed Enter" } else { "" })),
            Err(error) => Err(self.element_error(tab, &element.reference, error).await),
        }
    }

    async fn press_key(&self, tab: &TabHandle, key: &str, element: Option<&str>) -> Result<String, ToolError> {
        let parsed = Key::parse(key)?;
        if let Some(reference) = element {
            let element = self.element(tab, reference)?;
            if let Err(error) = self.element_script(tab, &element, &format!("focus({})", element.number)).await {
                return Err(self.element_error(tab, reference, error).await);
            }
        }
        self.press(tab, &parsed).await?;
        Ok(format!("Pressed {}", display::shorten(key, 40)))
    }

    async fn hover(&self, tab: &TabHandle, reference: &str, patience: Duration) -> Result<String, ToolError> {
        let element = self.element(tab, reference)?;
        let moved = async {
            let point = self.point(tab, &element, false, patience).await?;
            self.move_to(tab, point).await
        };
        match moved.await {
            Ok(()) => Ok(format!("Moved the mouse over {}", element.reference)),
            Err(error) => Err(self.element_error(tab, reference, error).await),
        }
    }

    async fn drag_element(&self, tab: &TabHandle, from: &str, to: &str, patience: Duration) -> Result<String, ToolError> {
        let (start, end) = (self.element(tab, from)?, self.element(tab, to)?);
        let starts = match self.point(tab, &start, true, patience).await {
            Ok(point) => point,
            Err(error) => return Err(self.element_error(tab, from, error).await),
        };
        let ends = match self.point(tab, &end, false, patience).await {
            Ok(point) => point,
            Err(error) => return Err(self.element_error(tab, to, error).await),
        };
        // What was scrolled for the second may have moved the first.
        let starts = self.point(tab, &start, true, patience).await.unwrap_or(starts);
        self.drag(tab, &start.frame, starts, ends).await?;
        Ok(format!("Dragged {} onto {}", start.reference, end.reference))
    }

    async fn select(&self, tab: &TabHandle, reference: &str, values: &[String]) -> Result<String, ToolError> {
        let element = self.element(tab, reference)?;
        match self.element_script(tab, &element, &format!("select({}, {})", element.number, json!(values))).await {
            Ok(_) => Ok(format!("Selected in {}", element.reference)),
            Err(error) => Err(self.element_error(tab, reference, error).await),
        }
    }

    async fn fill(&self, tab: &TabHandle, fields: &[FieldValue], patience: Duration) -> Result<String, ToolError> {
        for (at, field) in fields.iter().enumerate() {
            let element = self.element(tab, &field.element)?;
            if let Err(error) = self.fill_field(tab, &element, &field.value, false, patience).await {
                let error = self.element_error(tab, &field.element, error).await;
                let message = format!("{} The fields before it ({at} of {}) are filled.", error.message(), fields.len());
                return Err(error.with_message(message));
            }
        }
        Ok(format!("Filled {}", haft_text::numbers::count(fields.len(), "field")))
    }

    async fn resize(&self, tab: &TabHandle, width: u32, height: u32) -> Result<String, ToolError> {
        if !SIZES.contains(&width) || !SIZES.contains(&height) {
            let (least, most) = (SIZES.start(), SIZES.end());
            return Err(ToolError::validation(format!(
                "A window of {width} x {height} pixels is not possible: each side has {least} to {most}."
            )));
        }
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools.call(Some(&tab.session), "Emulation.setDeviceMetricsOverride", size).await.map_err(PageError::from)?;
        Ok(format!("Set the window to {width} x {height} pixels"))
    }

    /// Runs a function in the page itself, with an element if one is named.
    async fn run_script(&self, tab: &TabHandle, function: &str, reference: Option<&str>) -> Result<BrowserReply, ToolError> {
        if !self.settings.scripts {
            return Err(crate::service::no_scripts());
        }
        let mut call = if let Some(reference) = reference {
            let element = self.element(tab, reference)?;
            let object = self.main_world_object(tab, &element).await.map_err(|error| error.about(reference))?;
            json!({"functionDeclaration": as_function(function), "objectId": object, "arguments": [{"objectId": object}]})
        } else {
            let global = self.devtools.call(Some(&tab.session), "Runtime.evaluate", json!({"expression": "globalThis"})).await;
            let global = global.map_err(PageError::from)?;
            json!({"functionDeclaration": as_function(function), "objectId": global["result"]["objectId"]})
        };
        (call["awaitPromise"], call["returnByValue"], call["userGesture"]) = (true.into(), true.into(), true.into());
        let reply = self.devtools.call(Some(&tab.session), "Runtime.callFunctionOn", call).await.map_err(PageError::from)?;
        if let Some(details) = reply.get("exceptionDetails") {
            let thrown = details["exception"]["description"].as_str().or(details["text"].as_str()).unwrap_or_default();
            return Err(ToolError::execution(format!("The script failed: {}", display::shorten(thrown, 500))));
        }
        self.settle(tab).await;
        let value = &reply["result"]["value"];
        let text = value.as_str().map_or_else(|| format!("{value:#}"), str::to_owned);
        let page = haft_text::truncate::ellipsize(&text, LONGEST_VALUE).into_owned();
        Ok(BrowserReply {
            text: "The script returned:".to_owned(),
            page: Some(page),
            details: json!({"tab": tab.id}),
            ..BrowserReply::default()
        })
    }

    /// An element as the scripts of the page know it; only of the main frame.
    async fn main_world_object(&self, tab: &TabHandle, element: &ElementHandle) -> Result<String, PageError> {
        let object = self.object(tab, element).await?;
        let session = self.context(tab, &element.frame).await?.session;
        let node = self.devtools.call(Some(&session), "DOM.describeNode", json!({"objectId": object})).await?;
        let resolve = json!({"backendNodeId": node["node"]["backendNodeId"]});
        let resolved = self.devtools.call(Some(&session), "DOM.resolveNode", resolve).await?;
        resolved["object"]["objectId"].as_str().map(str::to_owned).ok_or(PageError::Stale)
    }

    /// Waits until the page has handled what it was told, and for the page that this leads to.
    pub(crate) async fn settle(&self, tab: &TabHandle) {
        // Whatever the page begins by itself, it has begun when it answers this. A page that is gone has nothing to say.
        let answered = self.devtools.call(Some(&tab.session), "Runtime.evaluate", json!({"expression": "0"}));
        tokio::select! {
            _ = answered => {}
            () = self.leaving(tab) => {}
        }
        let arrived = self.state.until(|state| match state.tab(&tab.target) {
            None => Some(()),
            Some(tab) => (tab.is_crashed || (!tab.load.is_leaving && tab.load.has_content) || tab.load.documents == 0).then_some(()),
        });
        if tokio::time::timeout(NEXT_PAGE, arrived).await.is_err() {
            self.state.lock().note("The page is still loading.".to_owned());
        }
    }

    async fn leaving(&self, tab: &TabHandle) {
        self.state.until(|state| state.tab(&tab.target).is_none_or(|tab| tab.load.is_leaving).then_some(())).await;
    }

    pub(crate) fn arm_dialog(&self, tab: &TabHandle, accept: bool, text: Option<String>) -> Result<BrowserReply, ToolError> {
        let mut state = self.state.lock();
        let found = state.tab_mut(&tab.target).ok_or(PageError::Gone)?;
        found.armed = Some(crate::state::DialogAnswer { accept, text });
        let how = if accept { "accepted" } else { "dismissed" };
        Ok(BrowserReply {
            text: format!("The next dialog in tab {} is {how}. Now do what opens it.", tab.id),
            details: json!({"tab": tab.id, "accept": accept}),
            ..BrowserReply::default()
        })
    }
}

/// A function, where a model wrote only its body or an expression.
fn as_function(source: &str) -> String {
    let text = source.trim();
    let is_function = text.starts_with("function")
        || text.starts_with("async")
        || text.split("=>").next().is_some_and(|head| {
            head.len() < text.len()
                && head.chars().all(|ch| ch.is_alphanumeric() || matches!(ch, '(' | ')' | ',' | ' ' | '_' | '$' | '{' | '}' | '='))
        });
    if is_function {
        // The element is the first argument also where the function is an arrow.
        return format!("function (element) {{ return ({text})(element); }}");
    }
    if text.contains("return ") { format!("function (element) {{ {text} }}") } else { format!("function (element) {{ return ({text}); }}") }
}

/// The left button, once.
pub(crate) const PLAIN_CLICK: ClickKind = ClickKind { button: MouseButton::Left, is_double: false, modifiers: 0 };
