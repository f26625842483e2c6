use std::sync::Arc;
use std::time::{Duration, Instant};
use haft_contract::*;
use haft_engine::*;
use haft_store::*;
use haft_testkit::*;
use serde_json::Value;
async fn floor(validator: &jsonschema::Validator, text: &str) -> String {
    let arguments: Value = serde_json::from_str(text).expect("JSON");
    assert!(validator.is_valid(&arguments));
    let task = tokio::spawn(async move { Ok(ToolOutput::text(arguments.as_object().map_or(0, serde_json::Map::len).to_string())) });
    let outcome = tokio::time::timeout(Duration::from_secs(5), task).await.expect("in time").expect("no panic");
    ToolResult { call_id: "call".into(), tool: "noop".into(), outcome, elapsed: Duration::ZERO }.to_json()
}
fn main() {
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::new();
    registry.register(ScriptedTool::new("noop").schema(serde_json::json!({"type":"object","properties":{"timezone":{"type":"string"},"format":{"type":"string","x-reserved-name":true}}})).returns("2").shared(), Source::BuiltIn).unwrap();
    let sqlite = std::env::args().nth(1).is_some();
    let log: Arc<dyn CallLog> = if sqlite { Arc::new(SqliteCallLog::open(dir.path()).unwrap().log) } else { Arc::new(InMemoryCallLog::default()) };
    let engine = Engine::builder(Arc::new(registry), log, Arc::new(FileBlobs::open(dir.path()).unwrap())).build();
    let session = Session::builder(FakeHost::new()).loop_limits(None).build();
    let v = jsonschema::validator_for(&serde_json::json!({"type":"object","properties":{"timezone":{"type":"string"},"format":{"type":"string"}}})).unwrap();
    let args = r#"{"timezone":"UTC","format":"iso8601"}"#;
    rt.block_on(async {
        for _ in 0..6 {
            let n = 20000u32;
            let t = Instant::now();
            for _ in 0..n { std::hint::black_box(floor(&v, args).await); }
            let f = t.elapsed() / n;
            let t = Instant::now();
            for _ in 0..n { std::hint::black_box(engine.run(ToolCall::new("1", "noop", args), &session).await.to_json()); }
            let o = t.elapsed() / n;
            println!("floor {f:?} ours {o:?} ratio {:.2}", o.as_secs_f64()/f.as_secs_f64());
        }
    });
}
