//! What an act is, from flat parameters or from one object.

use std::time::Duration;

use haft_contract::ToolError;
use haft_contract::ports::{FieldValue, LoadState, MouseButton, PageAct, WaitCondition};
use haft_text::display;
use serde_json::{Map, Value};

use super::params::{ActKind, Action, Field, Params, missing, non_blank};

/// The longest time that is waited for without a condition.
const LONGEST_PAUSE: u64 = 30_000;

impl Params {
    /// Whether it runs a script of the model in a page.
    pub(super) fn wants_script(&self) -> bool {
        let kind = self.request.as_ref().and_then(|request| request.get("kind")).and_then(Value::as_str);
        self.action == Action::Act && (self.kind == Some(ActKind::Evaluate) || kind == Some("evaluate"))
    }

    /// What is done on the page.
    pub(super) fn act(&self) -> Result<PageAct, ToolError> {
        match &self.request {
            Some(request) => self.flattened(request)?.flat_act(),
            None => self.flat_act(),
        }
    }

    /// The parameters of the object as flat ones; those beside it hold where it has none.
    fn flattened(&self, request: &Map<String, Value>) -> Result<Self, ToolError> {
        let fields = request.iter().map(|(key, value)| (snake_case(key), value.clone()));
        let mut fields: Map<String, Value> = fields.collect();
        if let Some(url) = fields.remove("url") {
            fields.insert("target_url".into(), url);
        }
        fields.remove("request");
        let mut flat: Self = serde_json::from_value(Value::Object(fields))
            .map_err(|error| ToolError::validation(format!("Parameter 'request' is not an act: {error}.")))?;
        flat.kind = flat.kind.or(self.kind);
        flat.reference = flat.reference.or_else(|| self.reference.clone());
        flat.text = flat.text.or_else(|| self.text.clone());
        Ok(flat)
    }

    fn flat_act(&self) -> Result<PageAct, ToolError> {
        let kind = self.kind.ok_or_else(|| missing("kind", "what to do, such as 'click' or 'type'"))?;
        let element = || self.required_ref().map(str::to_owned);
        Ok(match kind {
            ActKind::Click => PageAct::Click {
                element: element()?,
                button: self.mouse_button()?,
                double: self.double_click.unwrap_or_default(),
                modifiers: self.modifiers.clone().unwrap_or_default(),
            },
            ActKind::Type => PageAct::Type {
                element: element()?,
                text: self.text.clone().ok_or_else(|| missing("text", "the text to type"))?,
                submit: self.submit.unwrap_or_default(),
                slowly: self.slowly.unwrap_or_default(),
            },
            ActKind::Press => PageAct::Press {
                key: self.key.clone().ok_or_else(|| missing("key", "a key, such as 'Enter'"))?,
                element: non_blank(self.reference.as_ref()).map(str::to_owned),
            },
            ActKind::Hover => PageAct::Hover { element: element()? },
            ActKind::Drag => PageAct::Drag {
                from: non_blank(self.start_ref.as_ref()).ok_or_else(|| missing("start_ref", "the ref of what is dragged"))?.to_owned(),
                to: non_blank(self.end_ref.as_ref()).ok_or_else(|| missing("end_ref", "the ref of where it is dropped"))?.to_owned(),
            },
            ActKind::Select => PageAct::Select {
                element: element()?,
                values: self.values.clone().filter(|values| !values.is_empty()).ok_or_else(|| missing("values", "the options"))?,
            },
            ActKind::Fill => self.filled()?,
            ActKind::Wait => PageAct::Wait(self.condition()?),
            ActKind::Resize => PageAct::Resize {
                width: self.width.ok_or_else(|| missing("width", "pixels"))?,
                height: self.height.ok_or_else(|| missing("height", "pixels"))?,
            },
            ActKind::Evaluate => PageAct::Evaluate {
                function: self.function.clone().ok_or_else(|| missing("fn", "a function, such as '() => document.title'"))?,
                element: non_blank(self.reference.as_ref()).map(str::to_owned),
            },
            ActKind::Close => PageAct::Close,
        })
    }

    fn filled(&self) -> Result<PageAct, ToolError> {
        let fields = self.fields.clone().unwrap_or_default();
        if let (true, Some(reference), Some(text)) = (fields.is_empty(), non_blank(self.reference.as_ref()), &self.text) {
            return Ok(PageAct::Fill(vec![FieldValue { element: reference.to_owned(), value: text.clone() }]));
        }
        if fields.is_empty() {
            return Err(missing("fields", "a list of fields, such as [{\"ref\": \"e3\", \"value\": \"Ann\"}]"));
        }
        let field = |Field { reference, value }: Field| FieldValue { element: reference, value };
        Ok(PageAct::Fill(fields.into_iter().map(field).collect()))
    }

    fn mouse_button(&self) -> Result<MouseButton, ToolError> {
        let Some(name) = non_blank(self.button.as_ref()) else { return Ok(MouseButton::Left) };
        name.to_ascii_lowercase().parse().map_err(|error| ToolError::validation(format!("Parameter 'button': {error}.")))
    }

    fn condition(&self) -> Result<WaitCondition, ToolError> {
        let load: Option<LoadState> = non_blank(self.load_state.as_ref())
            .map(|name| name.to_ascii_lowercase().parse())
            .transpose()
            .map_err(|error: String| ToolError::validation(format!("Parameter 'load_state': {}.", display::shorten(&error, 100))))?;
        let condition = WaitCondition {
            time: self.time_ms.map(|time| Duration::from_millis(time.min(LONGEST_PAUSE))),
            text: non_blank(self.text.as_ref()).map(str::to_owned),
            text_gone: non_blank(self.text_gone.as_ref()).map(str::to_owned),
            selector: non_blank(self.selector.as_ref()).map(str::to_owned),
            url: self.awaited_address(),
            load,
        };
        if condition == WaitCondition::default() {
            return Err(missing("text", "what to wait for: text, text_gone, selector, target_url, load_state or time_ms"));
        }
        Ok(condition)
    }
}

/// `textGone` as `text_gone`.
fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for ch in key.chars() {
        if ch.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(ch.to_ascii_lowercase());
    }
    snake
}
