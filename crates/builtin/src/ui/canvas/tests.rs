use std::sync::{Arc, Mutex};

use haft_contract::ports::{CanvasDocument, CanvasPages, Services};
use haft_contract::{BoxFuture, Content, DynTool, Erased, ErrorKind};
use haft_testkit::{FakeHost, Reply, expect_error, expect_text, run_tool};

use super::*;
use crate::shared::picture::PictureFormat;
use crate::shared::picture::tests::sample;

/// A page that answers with this, and what it was told.
struct Page {
    is_open: bool,
    answer: Value,
    told: Mutex<Vec<CanvasCommand>>,
}

impl CanvasPages for Page {
    fn is_open(&self) -> bool {
        self.is_open
    }
    fn perform<'a>(&'a self, _session: &'a str, command: CanvasCommand, _patience: Duration) -> BoxFuture<'a, Result<Value, ToolError>> {
        self.told.lock().unwrap().push(command);
        Box::pin(async move { Ok(self.answer.clone()) })
    }
}

fn machine(is_open: bool, answer: Value) -> (Arc<FakeHost>, Arc<Page>) {
    let (host, page) = (FakeHost::new(), Arc::new(Page { is_open, answer, told: Mutex::default() }));
    let mut services = Services::default();
    services.canvas = Some(Arc::clone(&page) as _);
    host.services.set(services).map_err(|_| "set twice").unwrap();
    (host, page)
}

async fn act(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(Canvas::on_a_page()), arguments, Arc::clone(host)).await
}

#[tokio::test]
async fn each_action_reaches_the_page() {
    let (host, page) = machine(true, json!({"value": "42"}));
    host.files.put("a.html", "<h1>Hi</h1>");
    host.files.put("notes.txt", "1 < 2");
    host.http.answer("GET", "https://web.test/", Reply::ok("text/html", "<p>web</p>"));
    let push = json!({"deleteSurface": {"surfaceId": "main"}});
    for (arguments, said) in [
        (json!({"action": "present"}), "The canvas is shown."),
        (json!({"action": "present", "url": "a.html"}), "The canvas shows a.html."),
        (json!({"action": "navigate", "url": "notes.txt"}), "The canvas shows notes.txt."),
        (json!({"action": "navigate", "url": "https://web.test/"}), "The canvas shows https://web.test/."),
        (json!({"action": "hide"}), "The canvas is hidden."),
        (json!({"action": "a2ui_push", "jsonl": push.to_string()}), "1 message of A2UI went to the canvas."),
        (json!({"action": "a2ui_reset"}), "Everything that was pushed is removed."),
    ] {
        assert_eq!(expect_text(act(&host, arguments).await), said);
    }
    let text = expect_text(act(&host, json!({"action": "eval", "java_script": "6 * 7"})).await);
    assert!(
        text.starts_with("The text between the markers is what the script in the canvas returned") && text.contains("\n42\n"),
        "{text}"
    );
    let document = |source: &str, html: &str| CanvasCommand::Present(Some(CanvasDocument { source: source.into(), html: html.into() }));
    let expected = [
        CanvasCommand::Present(None),
        document("a.html", "<h1>Hi</h1>"),
        document("notes.txt", "<!DOCTYPE html><meta charset=\"utf-8\"><pre>1 &lt; 2</pre>"),
        document("https://web.test/", "<p>web</p>"),
        CanvasCommand::Hide,
        CanvasCommand::Push(vec![push]),
        CanvasCommand::Reset,
        CanvasCommand::Eval("6 * 7".into()),
    ];
    assert_eq!(*page.told.lock().unwrap(), expected);
}

#[test]
fn the_plan_names_the_page_the_file_and_the_address() {
    let (host, _) = machine(true, json!({}));
    let effects = |arguments| {
        let prepared = Erased::new(Canvas::on_a_page()).prepare(arguments, &PlanContext::new(&*host)).unwrap();
        serde_json::to_value(prepared.plan().effects()).unwrap()
    };
    let shown = json!({"effect": "send", "channel": "canvas", "to": "user"});
    assert_eq!(effects(json!({"action": "eval", "java_script": "1"})), json!([shown]));
    assert_eq!(effects(json!({"action": "present", "url": "a.html"})), json!([shown, {"effect": "read", "path": "/workspace/a.html"}]));
    let web = json!({"effect": "connect", "host": "web.test", "port": 443, "method": "GET"});
    assert_eq!(effects(json!({"action": "navigate", "url": "https://web.test/x"})), json!([shown, web]));
    assert_eq!(
        effects(json!({"action": "a2ui_push", "jsonl_path": "ui.jsonl"})),
        json!([shown, {"effect": "read", "path": "/workspace/ui.jsonl"}])
    );
}

#[tokio::test]
async fn snapshot_is_a_picture_or_says_what_is_missing() {
    let pixel = sample(PictureFormat::Png, 4, 3);
    let (host, page) = machine(true, json!({"mime": "image/png", "data": base64::encode(&pixel)}));
    let output = act(&host, json!({"action": "snapshot", "output_format": "jpeg", "max_width": 300, "quality": 60})).await.unwrap();
    assert!(matches!(&output.content[..], [Content::Text(_), Content::Image { mime, .. }] if mime == "image/png"), "{output:?}");
    assert_eq!(*page.told.lock().unwrap(), [CanvasCommand::Snapshot { mime: "image/jpeg", max_width: 300, quality: 60 }]);
    let (host, _) = machine(true, json!({"missing": "the frame is empty"}));
    let message = "There is no picture of the canvas: the frame is empty.";
    assert_eq!(expect_error(act(&host, json!({"action": "snapshot"})).await), (ErrorKind::ExecutionError, message.to_owned()));
}

#[tokio::test]
async fn without_a_page_it_says_so_at_once() {
    let (host, page) = machine(false, json!({}));
    let message = "No page of the user is open, so nothing can be shown. Ask the user to open the page of `haft serve`.";
    assert_eq!(expect_error(act(&host, json!({"action": "present"})).await), (ErrorKind::ExecutionError, message.to_owned()));
    assert_eq!(page.told.lock().unwrap().len(), 0);
    let absent = Canvas::new().describe().absent.unwrap();
    assert_eq!(absent.why, "no server runs this conversation, so there is no page to show it on");
}

#[tokio::test]
async fn hostile_documents_and_messages_are_refused_before_the_page_sees_them() {
    let (host, page) = machine(true, json!({}));
    let surface = |components: Value| json!({"surfaceUpdate": {"surfaceId": "s", "components": components}}).to_string();
    let component = |id: &str, kind: &str, properties: Value| json!({"id": id, "component": {kind: properties}});
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    let many: Vec<Value> = (0..1_001).map(|number| component(&number.to_string(), "Divider", json!({}))).collect();
    let push = |jsonl: String| json!({"action": "a2ui_push", "jsonl": jsonl});
    for (arguments, message) in [
        (json!({"action": "navigate"}), "Missing required parameter: 'url', for the action 'navigate'.".to_owned()),
        (json!({"action": "eval"}), "Missing required parameter: 'java_script', for the action 'eval'.".to_owned()),
        (json!({"action": "present", "url": "java\tscript:alert(1)"}), "A script is no document. Use the action 'eval'.".to_owned()),
        (json!({"action": "present", "url": "DATA:text/html,x"}), "A script is no document. Use the action 'eval'.".to_owned()),
        (
            json!({"action": "present", "url": "file:///etc/passwd"}),
            "'file:' cannot be shown on the canvas. Use a path of the workspace, or an http(s) URL.".to_owned(),
        ),
        (json!({"action": "a2ui_push"}), "Give 'jsonl' or 'jsonl_path', for the action 'a2ui_push'.".to_owned()),
        (push(String::new() + "\n \n"), "A2UI: jsonl has no message.".to_owned()),
        (push("x".repeat(300 * 1024)), "A2UI: jsonl has more than 256 KB.".to_owned()),
        (
            push("{\"createSurface\":{}}".into()),
            "A2UI: line 1 must be an object with one of surfaceUpdate, dataModelUpdate, beginRendering, deleteSurface.".to_owned(),
        ),
        (push(format!("\n{}", json!({"deleteSurface": {"surfaceId": deep}}))), "A2UI: line 2 is nested deeper than 16 levels.".to_owned()),
        (push(surface(json!(many))), "A2UI: line 1 has 1001 components, and 1000 are the most.".to_owned()),
        (
            push(surface(json!([component("a", "Script", json!({"src": "x"}))]))),
            format!("A2UI: line 1 the component 'a' is of the unknown kind 'Script'. There are: {}.", a2ui::COMPONENTS.join(", ")),
        ),
        (
            push(surface(json!([component("a", "Text", json!({})), component("a", "Text", json!({}))]))),
            "A2UI: line 1 has two components with the id 'a'.".to_owned(),
        ),
        (
            push(surface(json!([component("p", "Image", json!({"url": {"literalString": "https://evil.test/x.png"}}))]))),
            "A2UI: line 1 the picture 'p' must be a data:image/… URL, because the canvas has no network.".to_owned(),
        ),
    ] {
        assert_eq!(expect_error(act(&host, arguments.clone()).await), (ErrorKind::ValidationError, message), "{arguments}");
    }
    assert_eq!(page.told.lock().unwrap().len(), 0);
}
