mod body;
mod response;

use std::path::PathBuf;

use haft_contract::{Content, HttpRequest, HttpResponse, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::response::ReceivedBody;
use crate::shared::brief;
use crate::shared::polite::{self, CallDeadline};

const REDIRECTS: u8 = 5;
/// The client writes these itself: another value could differ from the URL and body that the policy has checked.
const RESERVED: &[&str] = &["host", "content-length", "transfer-encoding", "connection", "upgrade"];

/// Make an HTTP request to a URL. For APIs and plain files: returns the status, the content type and the body, the first 100
/// KB of it, with all of it in a file; an error status is a result like any other. A body is sent as JSON unless a
/// Content-Type header says otherwise. A server that a command of this session runs answers at
/// http://sandbox.localhost:PORT; other addresses of this machine and its local network are refused unless they are allowed.
/// To read web pages use web_fetch.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "http_request",
    label = "HTTP request",
    section = Web,
    category = Network,
    access = ReadOnly,
    timeout_secs = 30,
    rules = Connect,
    destructive,
    open_world
)]
pub(crate) struct HttpRequestTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The URL to request: http or https.
    url: String,
    /// HTTP method: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS. Defaults to GET.
    #[serde(default)]
    method: Method,
    /// Key-value pairs of HTTP headers (optional).
    headers: Option<Map<String, Value>>,
    /// Request body for POST/PUT/PATCH requests (optional).
    #[schemars(extend("x-verbatim" = true))]
    body: Option<String>,
    /// Request body as a JSON object (optional), in place of body.
    json: Option<Map<String, Value>>,
    /// A file whose content is the request body (optional), in place of body.
    #[schemars(extend("x-rare" = true))]
    body_file: Option<PathBuf>,
    /// A file to save the response body in (optional); it replaces the file.
    #[schemars(extend("x-rare" = true))]
    save_to: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }
}

impl Method {
    fn has_body(self) -> bool {
        !matches!(self, Self::Get | Self::Head | Self::Options)
    }
}

impl Tool for HttpRequestTool {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.headers()?;
        params.check_body()?;
        let mut plan = Plan::nothing();
        if let Some(file) = &params.body_file {
            plan = plan.read(cx.locate(file)?);
        }
        if let Some(file) = &params.save_to {
            plan = plan.write(cx.locate(file)?);
        }
        Ok(plan.connect(cx.connect(params.method.as_str(), &params.url)?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (deadline, method) = (CallDeadline::of_a_call(), params.method);
        let unsent = !method.has_body() && params.has_body();
        let save_to = params.save_to.clone();
        let request = params.into_request(cx).await?;
        let mut response = deadline.limit(cx.http().send(request)).await?;
        let output = match save_to.filter(|_| response.status < 400) {
            Some(file) => body::save(&mut response, &file, &deadline, cx).await?,
            None => show(&mut response, method, &deadline, cx).await?,
        };
        Ok(if unsent {
            with_note(output, &format!("(The body was not sent: a {} request carries none. Use POST or PUT to send it.)", method.as_str()))
        } else {
            output
        })
    }
}

async fn show(response: &mut HttpResponse, method: Method, deadline: &CallDeadline, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let received = ReceivedBody::read(response, deadline, cx).await?;
    let headers = matches!(method, Method::Head | Method::Options);
    let mut text = if headers { received.text_with_headers(response) } else { received.text(response) };
    if let Some(wait) = polite::wait_asked(response, cx) {
        text.extend(["\n\n(The server asks to wait ", &wait.as_secs().to_string(), " s before the next request.)"]);
    }
    Ok(ToolOutput::text(text).with_details(received.details(response)))
}

fn with_note(mut output: ToolOutput, note: &str) -> ToolOutput {
    if let Some(Content::Text(text)) = output.content.first_mut() {
        text.extend(["\n\n", note]);
    }
    output
}

impl Params {
    async fn into_request(self, cx: &ToolContext) -> Result<HttpRequest, ToolError> {
        let mut headers = self.headers()?;
        let body = match self.method {
            Method::Get | Method::Head | Method::Options => None,
            Method::Post | Method::Put | Method::Patch => Some(self.body(cx).await?.unwrap_or_default()),
            Method::Delete => self.body(cx).await?,
        };
        let typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !typed && body.as_ref().is_some_and(|body| !body.is_empty()) {
            headers.push(("Content-Type".into(), self.body_type().into()));
        }
        Ok(HttpRequest { method: self.method.as_str().into(), url: self.url, headers, body, redirects: REDIRECTS })
    }

    fn headers(&self) -> Result<Vec<(String, String)>, ToolError> {
        self.headers.iter().flatten().map(|(name, value)| Ok((checked_name(name)?, checked_value(name, value)?))).collect()
    }
}

fn checked_name(name: &str) -> Result<String, ToolError> {
    let shown = brief(name);
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
        return Err(ToolError::validation(format!("Invalid header name: '{shown}'. Use letters, digits and '-' only.")));
    }
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(ToolError::validation(format!("Header '{shown}' cannot be set: it follows from the URL and the body. Leave it out.")));
    }
    Ok(name.to_owned())
}

fn checked_value(name: &str, value: &Value) -> Result<String, ToolError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(ToolError::validation(format!(
                "Header '{}' must be text, not {}. Give one string, or leave the header out.",
                brief(name),
                brief(&value.to_string())
            )));
        }
    };
    if text.chars().any(|ch| ch.is_control() && ch != '\t') {
        let name = brief(name);
        return Err(ToolError::validation(format!("Header '{name}' has a line break or another control character. Write it on one line.")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
