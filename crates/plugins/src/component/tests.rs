//! Components with the real runtime: what they reach, and what stops them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::{Access, DynTool, ErrorKind, ToolCall, ToolResult, ToolSource};
use haft_engine::{Engine, Registry, Session};
use haft_store::{InMemoryBlobs, InMemoryCallLog};
use haft_testkit::{FakeHost, ProgressRecorder, Reply, context_for};
use serde_json::{Value, json};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::runtime::{ComponentCall, ComponentCode, ComponentFault};
use crate::tool::PluginProgram;
use crate::{InstalledPlugin, PluginFiles, PluginOrigin, PluginRecord};

const MANIFEST: &str = r#"
name = "fixture"
version = "1.0.0"
description = "Does what the first letter of its tools says."
component = "fixture.wasm"
"#;

/// A tool of the manifest: its name, and its keys.
const TOOLS: &[(&str, &str)] = &[
    ("read_it", "reads = [\"path\"]"),
    ("write_it", "writes = [\"path\"]"),
    ("fetch_it", "urls = [\"url\"]"),
    ("fetch_known", "hosts = [\"known.example\"]"),
    ("outside", ""),
    ("spin", "timeout = 1"),
    ("memory", ""),
    ("error", ""),
    ("trap", ""),
    ("count", ""),
    ("xecho", ""),
];

/// The component of a core module in text form, with the world of plugins.
fn component(module: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/wit")).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

fn plugin(folder: &Path, component: &[u8]) -> InstalledPlugin {
    let tool = |(name, keys): &(&str, &str)| {
        let parameter = if name.starts_with("fetch") { "url" } else { "path" };
        format!(
            "\n[[tools]]\nname = \"{name}\"\ndescription = \"A tool of the tests.\"\n{keys}\n[tools.parameters]\ntype = \"object\"\n\
             [tools.parameters.properties.{parameter}]\ntype = \"string\"\ndescription = \"What it is about\"\n"
        )
    };
    let manifest: String = std::iter::once(MANIFEST.to_owned()).chain(TOOLS.iter().map(tool)).collect();
    std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
    std::fs::write(folder.join("fixture.wasm"), component).unwrap();
    InstalledPlugin::tried(&PluginFiles::read(folder).unwrap(), folder).unwrap()
}

struct Bench {
    engine: Engine,
    session: Session,
    host: Arc<FakeHost>,
    progress: Arc<ProgressRecorder>,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new(access: Access, component: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Arc::new(Registry::new());
        for tool in plugin(folder.path(), component).tools() {
            registry.register(tool, ToolSource::Plugin("fixture".into())).unwrap();
        }
        let (host, progress) = (FakeHost::new(), Arc::new(ProgressRecorder::default()));
        let engine = Engine::builder(registry, Arc::new(InMemoryCallLog::default()), Arc::new(InMemoryBlobs::default())).build();
        let session =
            Session::builder(Arc::clone(&host) as _).access(access).progress(Arc::clone(&progress) as _).loop_limits(None).build();
        Self { engine, session, host, progress, _folder: folder }
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.engine.run(ToolCall::new("1", tool, arguments), &self.session).await
    }
}

/// The text of a result, or its error.
fn outcome(result: &ToolResult) -> Result<String, (ErrorKind, String)> {
    match &result.outcome {
        Ok(output) => Ok(output.texts().collect()),
        Err(error) => Err((error.kind(), error.message().to_owned())),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn component_reaches_what_its_plan_names_and_nothing_else() {
    let bench = Bench::new(Access::FullAccess, &component(include_str!("fixture.wat")));
    bench.host.files.put("a.txt", "of a");
    assert_eq!(outcome(&bench.call("read_it", json!({"path": "a.txt"})).await), Ok("of a".into()));
    assert_eq!(outcome(&bench.call("write_it", json!({"path": "b.txt"})).await), Ok("written".into()));
    assert_eq!(bench.host.files.text("b.txt").as_deref(), Some("written"));
    // Another session: one that has read a file asks before it sends anything.
    let bench = Bench::new(Access::FullAccess, &component(include_str!("fixture.wat")));
    bench.host.http.answer("GET", "https://known.example/x", Reply::ok("text/plain", "of x"));
    assert_eq!(outcome(&bench.call("fetch_it", json!({"url": "https://known.example/x"})).await), Ok("of x".into()));
    assert_eq!(outcome(&bench.call("fetch_known", json!({"url": "https://known.example/x"})).await), Ok("of x".into()));
    for (tool, arguments, told) in [
        ("outside", json!({}), "'../secret.txt'"),
        ("fetch_known", json!({"url": "https://other.example/x"}), "other.example"),
        ("read_it", json!({"path": "missing.txt"}), "missing.txt"),
    ] {
        let (kind, message) = outcome(&bench.call(tool, arguments).await).unwrap_err();
        assert!(message.contains(told), "{tool}: {kind} {message}");
    }
    assert_eq!(bench.host.http.requests().len(), 2, "nothing else was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_decides_before_the_component_runs() {
    let bench = Bench::new(Access::ReadOnly, &component(include_str!("fixture.wat")));
    let (kind, message) = outcome(&bench.call("write_it", json!({"path": "b.txt"})).await).unwrap_err();
    assert_eq!(kind, ErrorKind::PermissionDenied, "{message}");
    let (kind, _) = outcome(&bench.call("read_it", json!({"path": "../outside.txt"})).await).unwrap_err();
    assert_eq!(kind, ErrorKind::PathNotAllowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_has_an_instance_of_its_own_and_an_end() {
    let bench = Bench::new(Access::WorkspaceWrite, &component(include_str!("fixture.wat")));
    for _ in 0..3 {
        assert_eq!(outcome(&bench.call("count", json!({})).await), Ok("first call of this instance".into()));
    }
    assert_eq!(bench.progress.messages(), ["written"; 3]);
    let context: Value = serde_json::from_str(&outcome(&bench.call("xecho", json!({})).await).unwrap()).unwrap();
    assert_eq!(
        (&context["call"], &context["access"], &context["plugin_version"]),
        (&json!("1"), &json!("workspace-write"), &json!("1.0.0"))
    );
    assert_eq!(outcome(&bench.call("memory", json!({})).await), Ok("written".into()), "it is told that there is no more");
    for (tool, kind, told) in [
        ("error", ErrorKind::ExecutionError, "no such thing"),
        ("trap", ErrorKind::ExecutionError, "it broke down"),
        ("spin", ErrorKind::Timeout, "did not answer within 1 s"),
    ] {
        let (seen, message) = outcome(&bench.call(tool, json!({})).await).unwrap_err();
        assert!(seen == kind && message.contains(told), "{tool}: {seen} {message}");
    }
    // Those that spin do not hold up others, and a cancelled one ends at once.
    let started = Instant::now();
    let cancel = tokio_util::sync::CancellationToken::new();
    let spinning = bench.engine.run_until(ToolCall::new("2", "spin", json!({})), &bench.session, &cancel);
    let other = async {
        let answer = outcome(&bench.call("count", json!({})).await);
        cancel.cancel();
        answer
    };
    let (spun, answered) = tokio::join!(spinning, other);
    assert_eq!((outcome(&spun).unwrap_err().0, answered), (ErrorKind::Cancelled, Ok("first call of this instance".into())));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn fuel_ends_what_works_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let installed = plugin(folder.path(), &component(include_str!("fixture.wat")));
    let manifest = installed.state.as_ref().unwrap();
    let record = PluginRecord::new(&PluginFiles::read(folder.path()).unwrap(), manifest, folder.path(), PluginOrigin::User);
    let program = PluginProgram::new(manifest, folder.path().to_owned(), &record);
    let code = ComponentCode::default();
    code.compile(&program).unwrap();
    let call = ComponentCall { tool: "spin".into(), arguments: "{}".into(), context: "{}".into(), fuel: 1_000_000 };
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let (cx, runtime) = (context_for(haft_contract::Plan::nothing(), FakeHost::new()), tokio::runtime::Handle::current());
    let ended = tokio::task::spawn_blocking(move || code.run(&call, cx, stopped, runtime)).await.unwrap();
    assert!(matches!(&ended, Err(ComponentFault::Broke(why)) if why == "it used more than 1000000 units of fuel"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn component_that_wants_more_or_is_none_is_refused() {
    let wants_files =
        wat::parse_str("(component (import \"wasi:filesystem/preopens@0.2.0\" (instance (export \"get-directories\" (func)))))");
    let wants_files = wants_files.unwrap();
    for (bytes, told) in [(wants_files.as_slice(), "wasi:filesystem"), (b"(component)", "cannot be used"), (b"", "cannot be used")] {
        let bench = Bench::new(Access::FullAccess, bytes);
        let (kind, message) = outcome(&bench.call("count", json!({})).await).unwrap_err();
        assert!(kind == ErrorKind::ExecutionError && message.contains(told), "{message}");
    }
}

#[test]
fn copy_that_was_changed_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let installed = plugin(folder.path(), &component(include_str!("fixture.wat")));
    let tools: Vec<Arc<dyn DynTool>> = installed.tools();
    std::fs::write(folder.path().join("fixture.wasm"), "other").unwrap();
    let host = FakeHost::new();
    let refused = tools[0].prepare(json!({"path": "a.txt"}), &haft_contract::PlanContext::new(&*host)).unwrap_err();
    assert!(refused.message().contains("its files have changed since the user looked at them"), "{}", refused.message());
}

/// The folders of the example plugins, built as their readers build them.
fn built_examples(folder: &Path) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/build-components");
    let output = std::process::Command::new(script).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn example_plugins_in_rust_and_python_are_built_and_answer() {
    let folder = tempfile::tempdir().unwrap();
    built_examples(folder.path());
    let registry = Arc::new(Registry::new());
    for name in ["checksum", "words"] {
        let folder = folder.path().join(name);
        let installed = InstalledPlugin::tried(&PluginFiles::read(&folder).unwrap(), &folder).unwrap();
        for tool in installed.tools() {
            registry.register(tool, ToolSource::Plugin(name.into())).unwrap();
        }
    }
    let host = FakeHost::new();
    host.files.put("a.txt", "one two two\n");
    let engine = Engine::builder(registry, Arc::new(InMemoryCallLog::default()), Arc::new(InMemoryBlobs::default())).build();
    let session = Session::builder(Arc::clone(&host) as _).loop_limits(None).build();
    for (tool, arguments, expected) in [
        ("file_checksum", json!({"path": "a.txt"}), Ok("d9357dc93964c9e3")),
        ("file_checksum", json!({"path": "a.txt", "out": "sum"}), Ok("d9357dc93964c9e3, written to sum")),
        ("common_words", json!({"path": "a.txt"}), Ok("2 two\n1 one")),
        ("common_words", json!({"path": "a.txt", "most": 1}), Ok("2 two")),
        ("common_words", json!({"path": "none.txt"}), Err("none.txt")),
        ("file_checksum", json!({"path": "none.txt"}), Err("none.txt")),
    ] {
        let seen = outcome(&engine.run(ToolCall::new("1", tool, arguments.clone()), &session).await);
        match expected {
            Ok(text) => assert_eq!(seen, Ok(text.to_owned()), "{tool} {arguments}"),
            Err(told) => assert!(seen.as_ref().is_err_and(|(_, message)| message.contains(told)), "{tool} {arguments}: {seen:?}"),
        }
    }
    assert_eq!(host.files.text("sum").as_deref(), Some("d9357dc93964c9e3  a.txt\n"));
}
