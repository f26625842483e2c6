//! The keyboard: keys, and text into fields.

use std::time::Duration;

use serde_json::json;

use crate::acts::PLAIN_CLICK;
use crate::browser::Browser;
use crate::devtools::DevTools;
use crate::failure::PageError;
use crate::keys::Key;
use crate::page::{ElementHandle, TabHandle};

impl Browser {
    /// Presses a key and lets it go.
    pub(crate) async fn press(&self, tab: &TabHandle, key: &Key) -> Result<(), PageError> {
        send_key(&self.devtools, tab, key).await
    }

    /// Gives a field a new text, instead of the one that it has.
    pub(crate) async fn fill_field(
        &self,
        tab: &TabHandle,
        element: &ElementHandle,
        value: &str,
        slowly: bool,
        patience: Duration,
    ) -> Result<(), PageError> {
        let call = format!("prepareField({}, {}, {})", element.number, json!(value), patience.as_millis());
        let prepared = self.element_script(tab, element, &call).await?;
        match prepared.as_str() {
            Some("done") => return Ok(()),
            Some("click") => {
                let point = self.point(tab, element, true, patience).await?;
                return self.click_at(tab, point, PLAIN_CLICK).await;
            }
            Some("replace") if value.is_empty() || slowly => self.press(tab, &Key::delete()).await?,
            _ => {}
        }
        if slowly {
            for ch in value.chars() {
                self.press(tab, &Key::character(ch, 0)).await?;
            }
            return Ok(());
        }
        if value.is_empty() {
            return Ok(());
        }
        self.devtools.call(Some(&tab.session), "Input.insertText", json!({"text": value})).await?;
        Ok(())
    }
}

/// Presses a key in a tab and lets it go.
pub(crate) async fn send_key(devtools: &DevTools, tab: &TabHandle, key: &Key) -> Result<(), PageError> {
    let event = |kind: &str| {
        let mut event = json!({
            "type": kind, "key": key.name, "code": key.code, "windowsVirtualKeyCode": key.number, "modifiers": key.modifiers,
        });
        if let Some(text) = key.text.as_ref().filter(|_| kind == "keyDown") {
            event["text"] = text.as_str().into();
        }
        if kind != "keyUp" && !key.commands().is_empty() {
            event["commands"] = json!(key.commands());
        }
        event
    };
    let down = if key.text.is_some() { "keyDown" } else { "rawKeyDown" };
    let sent = [down, "keyUp"].map(|kind| devtools.send(Some(&tab.session), "Input.dispatchKeyEvent", event(kind)));
    for pending in sent {
        match pending.raw().await.map_err(PageError::from) {
            Ok(_) | Err(PageError::Gone) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
