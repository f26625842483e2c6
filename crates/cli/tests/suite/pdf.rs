//! PDF documents, read by a helper process: the binary itself, started again.

use std::fs;

use haft_testkit::pdf_document;
use serde_json::{Value, json};

use super::backends::{FORBIDDEN, USER_NAMESPACE, run_spoiled};
use super::harness::World;
use super::network::server;

/// A document that nests deeper than any stack.
fn deeply_nested(pages: &[&[&str]]) -> Vec<u8> {
    pdf_document(pages, &format!("/Nested {}1{}", "[".repeat(200_000), "]".repeat(200_000)))
}

/// Processes with the folder of this test among their arguments.
fn processes_of(world: &World) -> Vec<String> {
    let folder = world.path("").canonicalize().unwrap().to_str().unwrap().to_owned();
    let words = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    words.map(|words| String::from_utf8_lossy(&words).into_owned()).filter(|words| words.contains(&folder)).collect()
}

#[test]
fn pdf_text_is_read_by_pages() {
    let world = World::new();
    world.write("a.pdf", pdf_document(&[&["first page"], &["second page", "its end"], &["third page"]], ""));
    let ran = world.run(&["call", "read_file", "--path", "a.pdf", "--pages", "2"]);
    let page = "--- Page 2 of 3 ---\nsecond page\nits end\n\n(Showing pages 2-2 of 3. Continue with pages=\"3-3\".)\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, page), "{ran:?}");
}

#[test]
fn pdf_of_the_web_is_read_and_its_other_pages_can_be() {
    let (port, _) = server(pdf_document(&[&["first page"], &["second page"]], ""));
    let world = World::with_config(&format!("network.allow = ['127.0.0.2:{port}']\nweb.respect_robots = 'off'\n"));
    let (code, result) = world.call("web_fetch", &json!({"url": format!("http://127.0.0.2:{port}/a.pdf")}));
    let text = result["result"].as_str().unwrap_or_default();
    assert!(code == 0 && text.contains("--- Page 1 of 2 ---\nfirst page\n\n--- Page 2 of 2 ---\nsecond page"), "{result}");
    assert_eq!((&result["details"]["extractor"], &result["details"]["untrusted"]), (&json!("pdf"), &json!(true)), "{result}");
    let (_, stored) = text.split_once("The document is stored in ").unwrap();
    let stored = stored.split(": read its other pages").next().unwrap().replace("[world]", world.path("").to_str().unwrap());
    let ran = world.run(&["call", "read_file", "--path", &stored, "--pages", "2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "--- Page 2 of 2 ---\nsecond page\n"), "{ran:?}");
}

#[test]
fn damaged_pdf_is_refused() {
    let world = World::new();
    world.write("a.pdf", "%PDF-1.4\nnothing of the kind");
    let (code, result) = world.call("read_file", &json!({"path": "a.pdf"}));
    assert_eq!((code, &result["error_type"]), (1, &json!("not_text")), "{result}");
}

#[test]
fn pdf_that_crashes_the_helper_ends_nothing_else() {
    let world = World::new();
    world.write("deep.pdf", deeply_nested(&[&["Hello"]]));
    let (code, result) = world.call("read_file", &json!({"path": "deep.pdf"}));
    let message = result["message"].as_str().unwrap_or_default();
    let expected = "but the PDF helper process ended with signal 6. The document is damaged, or malicious.";
    assert_eq!((code, &result["error_type"]), (1, &json!("not_text")), "{result}");
    assert!(message.ends_with(expected), "{result}");
    assert_eq!(processes_of(&world), Vec::<String>::new());
    world.write("a.pdf", pdf_document(&[&["after it"]], ""));
    let ran = world.run(&["call", "read_file", "--path", "a.pdf"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "--- Page 1 of 1 ---\nafter it\n"), "{ran:?}");
}

/// C12: a helper has the sandbox of commands; without a sandbox it says so or does not run.
#[test]
fn c12_helper_has_the_sandbox_of_commands() {
    let world = World::new();
    world.write("a.pdf", pdf_document(&[&["text"]], ""));
    let call = ["call", "read_file", r#"{"path":"a.pdf"}"#, "--json"];
    for (mode, sandbox) in [("required", "bubblewrap"), ("preferred", "bubblewrap"), ("off", "none")] {
        world.configure(&format!("sandbox.mode = '{mode}'\n"));
        let result = world.run(&call).json();
        assert_eq!((&result["details"]["sandbox"], &result["details"]["warnings"]), (&json!(sandbox), &Value::Null), "{mode}: {result}");
    }
    let missing = "the kernel refused it";
    for mode in ["required", "preferred"] {
        world.configure(&format!("sandbox.mode = '{mode}'\n"));
        let result = run_spoiled(&world, USER_NAMESPACE, FORBIDDEN, &call).json();
        let reported = |field: &Value| field.to_string().contains(missing);
        let refused = result["error_type"] == "sandbox_unavailable" && reported(&result["message"]);
        let weaker = mode == "preferred" && result["details"]["sandbox"] == "landlock" && reported(&result["details"]["warnings"]);
        assert!(refused || weaker, "{mode}: {result}");
    }
}
