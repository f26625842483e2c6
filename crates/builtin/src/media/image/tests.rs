use std::sync::{Arc, Mutex};

use haft_contract::ports::{QuestionPicture, Services, VisionModels};
use haft_contract::{BoxFuture, Connect, DynTool, Erased};
use haft_testkit::{FakeHost, Reply, expect_error, run_tool};
use haft_text::base64;

use super::*;
use crate::shared::picture::PictureFormat;
use crate::shared::picture::tests::sample;

const NAMES: [&str; 2] = ["acme/eyes", "other/eyes"];

/// Two models, of which the first fails on request, and what they were asked.
#[derive(Default)]
struct Eyes {
    fails: bool,
    asked: Mutex<Vec<(String, String, Vec<QuestionPicture>)>>,
}

impl VisionModels for Eyes {
    fn models(&self) -> Vec<VisionModel> {
        let hosts = [("acme/eyes", "acme.test"), ("other/eyes", "other.test")];
        hosts.map(|(name, host)| VisionModel { name: name.into(), address: Connect::provider("https", host, 443) }).into()
    }
    fn ask<'a>(&'a self, model: &'a str, question: &'a VisionQuestion) -> BoxFuture<'a, Result<String, ToolError>> {
        self.asked.lock().unwrap().push((model.into(), question.prompt.clone(), question.pictures.clone()));
        let answer = if self.fails && model == NAMES[0] { Err(ToolError::execution("it is down.")) } else { Ok(format!("{model} saw it")) };
        Box::pin(async move { answer })
    }
}

fn machine(fails: bool) -> (Arc<FakeHost>, Arc<Eyes>) {
    let (host, eyes) = (FakeHost::new(), Arc::new(Eyes { fails, ..Eyes::default() }));
    let mut services = Services::default();
    services.vision = Some(Arc::clone(&eyes) as _);
    host.services.set(services).map_err(|_| "set twice").unwrap();
    (host, eyes)
}

fn tool() -> Erased<Image> {
    Erased::new(Image::with(NAMES.map(str::to_owned).into(), None, Some("/workspace/home".into())))
}

async fn look(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&tool(), arguments, Arc::clone(host)).await
}

#[tokio::test]
async fn every_way_to_name_a_picture_reaches_the_model_once() {
    let (host, eyes) = machine(false);
    let pixel = sample(PictureFormat::Png, 2, 1);
    for path in ["a.png", "b.png", "home/c.png", "d e.png"] {
        host.files.put(path, pixel.clone());
    }
    host.http.answer("GET", "https://web.test/e.png", Reply::ok("image/png", pixel.clone()));
    let data = format!("data:image/png;base64,{}", base64::encode(&pixel));
    let images = json!(["a.png", " a.png ", "@b.png", "~/c.png", "file:///workspace/d%20e.png", data, "https://web.test/e.png"]);
    let output = look(&host, json!({"image": "a.png", "images": images, "prompt": "Compare."})).await.unwrap();
    let asked = eyes.asked.lock().unwrap().clone();
    let picture = QuestionPicture { mime: "image/png".into(), data: pixel.clone() };
    assert_eq!(asked, [(NAMES[0].to_owned(), "Compare.".to_owned(), vec![picture; 6])]);
    let text = output.texts().next().unwrap();
    assert!(text.starts_with("The text between the markers is what a model sees in a picture from the web"), "{text}");
    let details = output.details.unwrap();
    assert_eq!(details["attempts"], json!([{"model": "acme/eyes"}]));
    let named: Vec<_> = details["images"].as_array().unwrap().iter().map(|image| (&image["image"], &image["rewritten_from"])).collect();
    let null = Value::Null;
    assert_eq!(
        named,
        [
            (&json!("a.png"), &null),
            (&json!("b.png"), &json!("@b.png")),
            (&json!("/workspace/home/c.png"), &json!("~/c.png")),
            (&json!("/workspace/d e.png"), &json!("file:///workspace/d%20e.png")),
            (&json!("data: URL"), &null),
            (&json!("https://web.test/e.png"), &null),
        ]
    );
    let sent = json!({"mime": "image/png", "width": 2, "height": 1, "bytes": pixel.len()});
    assert_eq!(details["images"][0], json!({"image": "a.png", "mime": "image/png", "width": 2, "height": 1, "sent": sent}));
}

#[test]
fn the_plan_names_files_addresses_and_providers() {
    let (host, _) = machine(false);
    let plan = |arguments| {
        let prepared = tool().prepare(arguments, &PlanContext::new(&*host)).unwrap();
        serde_json::to_value(prepared.plan().effects()).unwrap()
    };
    let provider = |host: &str| json!({"effect": "connect", "host": host, "port": 443, "method": "POST", "provider": true});
    assert_eq!(
        plan(json!({"images": ["a.png", "https://web.test/e.png", "data:image/png;base64,AAAA"]})),
        json!([
            {"effect": "read", "path": "/workspace/a.png"},
            {"effect": "connect", "host": "web.test", "port": 443, "method": "GET"},
            provider("acme.test"),
            provider("other.test"),
        ])
    );
    let one = plan(json!({"image": "a.png", "model": "other/eyes"}));
    assert_eq!(one, json!([{"effect": "read", "path": "/workspace/a.png"}, provider("other.test")]));
}

#[tokio::test]
async fn next_model_is_asked_when_one_fails() {
    let (host, eyes) = machine(true);
    host.files.put("a.png", sample(PictureFormat::Png, 2, 1));
    let output = look(&host, json!({"image": "a.png"})).await.unwrap();
    assert_eq!(output.texts().collect::<Vec<_>>(), ["other/eyes saw it"]);
    let attempts = json!([{"model": "acme/eyes", "error": "it is down."}, {"model": "other/eyes"}]);
    assert_eq!(output.details.as_ref().map(|details| &details["attempts"]), Some(&attempts));
    assert_eq!(eyes.asked.lock().unwrap()[0].1, DESCRIBE);
    let error = look(&host, json!({"image": "a.png", "model": "acme/eyes"})).await.unwrap_err();
    let message = "No model could look at it. acme/eyes: it is down. Tell the user, who configures image.models.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::ExecutionError, message));
}

#[tokio::test]
async fn what_cannot_be_looked_at_is_said_before_a_model_is_asked() {
    let (host, eyes) = machine(false);
    host.files.put("page.png", "<html><body>404</body></html>");
    host.files.put("drawing.svg", "<?xml version='1.0'?><svg onload='alert(1)'/>");
    host.files.put("empty.png", "");
    host.files.put("big.png", [sample(PictureFormat::Png, 2, 1), vec![0; 1024 * 1024]].concat());
    host.http.answer("GET", "https://web.test/gone.png", Reply::new(404, "Not Found"));
    let many: Vec<String> = (0..21).map(|number| format!("{number}.png")).collect();
    for (arguments, kind, message) in [
        (json!({}), ErrorKind::ValidationError, "Missing required parameter: 'image'. Name a picture in image, or several in images."),
        (json!({"images": many}), ErrorKind::ValidationError, "Too many images: 21, and 20 are the most. Ask about them in several calls."),
        (
            json!({"images": ["a", "b"], "max_images": 1}),
            ErrorKind::ValidationError,
            "Too many images: 2, and 1 are the most. Ask about them in several calls.",
        ),
        (
            json!({"image": "ftp://x/y.png"}),
            ErrorKind::ValidationError,
            "Unsupported image reference: 'ftp://x/y.png': 'ftp:' is not read. Use a path, or a file:, data: or http(s) URL.",
        ),
        (
            json!({"image": "file://server/y.png"}),
            ErrorKind::ValidationError,
            "Unsupported image reference: 'file://server/y.png': it names a file of another machine. Use a path, or a file:, data: or \
             http(s) URL.",
        ),
        (
            json!({"image": "data:image/png,abc"}),
            ErrorKind::ValidationError,
            "Unsupported image reference: 'data:image/png,abc': a data URL must be in base64. Use a path, or a file:, data: or http(s) URL.",
        ),
        (
            json!({"image": "a.png", "model": "none/x"}),
            ErrorKind::ValidationError,
            "The model 'none/x' is not configured to look at images. There are: acme/eyes, other/eyes.",
        ),
        (
            json!({"image": "page.png"}),
            ErrorKind::NotText,
            "Not an image: page.png (29 bytes). It is a web page: name the address of the image itself.",
        ),
        (
            json!({"image": "drawing.svg"}),
            ErrorKind::NotText,
            "Not an image: drawing.svg (45 bytes). An SVG drawing is text, and may have scripts: read it with read_file or web_fetch.",
        ),
        (json!({"image": "empty.png"}), ErrorKind::NotText, "Not an image: empty.png (0 bytes). It is empty."),
        (
            json!({"image": "big.png", "max_bytes_mb": 1}),
            ErrorKind::FileTooLarge,
            "File too large: big.png (1.0 MB) is an image of more than 1.0 MB.",
        ),
        (json!({"image": "missing.png"}), ErrorKind::FileNotFound, "File not found: missing.png"),
        (json!({"image": "https://web.test/gone.png"}), ErrorKind::NetworkError, "HTTP 404 Not Found: https://web.test/gone.png."),
    ] {
        assert_eq!(expect_error(look(&host, arguments.clone()).await), (kind, message.to_owned()), "{arguments}");
    }
    assert_eq!(eyes.asked.lock().unwrap().len(), 0);
    let error = look(&host, json!({"images": many})).await.unwrap_err();
    assert_eq!(error.details(), Some(&json!({"error": "too_many_images", "count": 21, "max": 20})));
    let error = look(&host, json!({"image": "ftp://x/y.png"})).await.unwrap_err();
    assert_eq!(error.details(), Some(&json!({"error": "unsupported_image_reference", "image": "ftp://x/y.png"})));
}

#[test]
fn without_a_model_it_is_absent_and_says_what_to_configure() {
    let absent = Image::new().describe().absent.unwrap();
    assert_eq!(absent.why, "no model that sees is configured");
    assert_eq!(absent.advice, "set image.models = [\"anthropic/claude-sonnet-4-5\"] in your config.toml; see docs/MEDIA.md");
    let faulty = Image::with(Vec::new(), Some("there is no provider 'x'".into()), None).describe().absent.unwrap();
    assert_eq!(faulty.why, "no model that sees can be used: there is no provider 'x'");
    let offered = tool().definition().clone();
    assert_eq!((offered.absent, &offered.parameters["properties"]["model"]["enum"]), (None, &json!(NAMES)));
}
