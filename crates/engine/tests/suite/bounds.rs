//! No output is larger than its cap, no secret gets through, and what was cut can be read.

use std::time::{Duration, SystemTime};

use haft_contract::{ErrorKind, ToolOutput};
use haft_testkit::ScriptedTool;
use serde_json::json;

use crate::harness::{failure, setup, text};

fn spill_path(text: &str) -> &str {
    text.split("All of it is in '").nth(1).and_then(|rest| rest.split('\'').next()).expect("a spill path in the note")
}

#[tokio::test]
async fn a_hundred_megabytes_are_cut_and_kept_in_full() {
    let harness = setup()
        .tool(ScriptedTool::new("flood").returns_bytes(100 << 20))
        .engine(|builder| {
            let mut limits = haft_engine::CallLimits::default();
            limits.spill_bytes = 200 << 20;
            builder.limits(limits)
        })
        .build();
    let shown = text(&harness.call("flood", json!({})).await);
    assert!(shown.len() < 110 * 1024, "{} bytes reached the model", shown.len());
    assert!(shown.contains("of 104857600 bytes"), "{}", &shown[shown.len() - 300..]);
    assert_eq!(std::fs::metadata(spill_path(&shown)).unwrap().len(), 100 << 20);
}

#[tokio::test]
async fn the_cut_falls_on_a_line_and_names_the_next_one() {
    let lines: String = (1..=20_000).map(|n| format!("line {n} é\n")).collect();
    let harness = setup().tool(ScriptedTool::new("lines").returns(lines.clone())).build();
    let shown = text(&harness.call("lines", json!({})).await);
    let (head, note) = shown.split_once("\n\n(Output truncated.").unwrap();
    let last: u32 = head.lines().last().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    assert!(lines.starts_with(head));
    assert!(note.contains(&format!("offset={}", last + 1)), "{note}");
    assert_eq!(std::fs::read_to_string(spill_path(&shown)).unwrap(), lines);
}

#[tokio::test]
async fn a_spill_has_a_limit_of_its_own_and_says_so() {
    let harness = setup()
        .tool(ScriptedTool::new("flood").returns_bytes(2 << 20))
        .engine(|builder| {
            let mut limits = haft_engine::CallLimits::default();
            limits.spill_bytes = 1 << 20;
            builder.limits(limits)
        })
        .build();
    let shown = text(&harness.call("flood", json!({})).await);
    let kept = std::fs::read_to_string(spill_path(&shown)).unwrap();
    assert!(kept.len() < (1 << 20) + 100 && kept.ends_with("(cut here: a spill holds at most 1048576 bytes)\n"));
}

#[tokio::test]
async fn old_spills_go_when_a_new_one_comes() {
    const AGE: Duration = Duration::from_millis(50);
    let harness = setup()
        .tool(ScriptedTool::new("flood").returns_bytes(200_000))
        .engine(|builder| {
            let mut limits = haft_engine::CallLimits::default();
            limits.spill_age = AGE;
            builder.limits(limits)
        })
        .build();
    let first = text(&harness.call("flood", json!({"n": 1})).await);
    let second = text(&harness.call("flood", json!({"n": 2})).await);
    let change = |shown: &str, modified| std::fs::File::options().write(true).open(spill_path(shown)).unwrap().set_modified(modified);
    change(&first, SystemTime::now() - Duration::from_hours(2)).unwrap();
    change(&second, SystemTime::now() + Duration::from_hours(2)).unwrap();
    // Old spills are looked for once in that time.
    tokio::time::sleep(AGE).await;
    let third = text(&harness.call("flood", json!({"n": 3})).await);
    let there = [&first, &second, &third].map(|shown| std::path::Path::new(spill_path(shown)).exists());
    assert_eq!(there, [false, true, true]);
}

#[tokio::test]
async fn a_tool_with_a_larger_bound_of_its_own_is_not_cut() {
    let tool = ScriptedTool::new("page").returns_bytes(500_000).define(|definition| definition.max_output = 600_000);
    let harness = setup().tool(tool).build();
    assert_eq!(text(&harness.call("page", json!({})).await).len(), 500_000);
}

#[tokio::test]
async fn a_lower_output_limit_binds_every_tool() {
    let tool = ScriptedTool::new("page").returns_bytes(500_000).define(|definition| definition.max_output = 600_000);
    let harness = setup()
        .tool(tool)
        .engine(|builder| {
            let mut limits = haft_engine::CallLimits::default();
            limits.output_bytes = 1000;
            builder.limits(limits)
        })
        .build();
    let shown = text(&harness.call("page", json!({})).await);
    assert!(shown.contains("(Output truncated. Showing the first 1000 of 500000 bytes."), "{} bytes", shown.len());
    assert_eq!(std::fs::metadata(spill_path(&shown)).unwrap().len(), 500_000);
}

#[tokio::test]
async fn secrets_reach_neither_the_model_nor_history_nor_a_spill() {
    let secret = "sk-ant-api03-abcdefghijklmnop";
    let harness = setup()
        .tool(ScriptedTool::new("leak").returns(format!("key {secret}")))
        .tool(ScriptedTool::new("leak_error").fails(ErrorKind::ExecutionError, format!("bad {secret}")))
        .tool(ScriptedTool::new("leak_much").returns(format!("{}\n{secret}\n", "x".repeat(200_000))))
        .build();
    assert_eq!(text(&harness.call("leak", json!({"key": secret})).await), "key [redacted:anthropic_key]");
    assert_eq!(failure(&harness.call("leak_error", json!({})).await).1, "bad [redacted:anthropic_key]");
    let shown = text(&harness.call("leak_much", json!({})).await);
    let spilled = std::fs::read_to_string(spill_path(&shown)).unwrap();
    assert!(spilled.ends_with("[redacted:anthropic_key]\n"));
    let stored = format!("{:?}", harness.history().await);
    assert!(!stored.contains(secret) && stored.contains("redacted:anthropic_key"));
}

#[tokio::test]
async fn a_tool_can_stream_into_a_spill_itself() {
    let tool = ScriptedTool::new("stream").body(|_, cx| async move {
        let mut spill = cx.spills().create("txt").await?;
        for _ in 0..100 {
            spill.write(b"0123456789\n").await?;
        }
        let file = spill.finish().await?;
        Ok(ToolOutput::text(format!("{} {}", file.bytes, file.path.display())))
    });
    let harness = setup().tool(tool).build();
    let answer = text(&harness.call("stream", json!({})).await);
    let (bytes, path) = answer.split_once(' ').unwrap();
    assert_eq!((bytes, std::fs::read_to_string(path).unwrap()), ("1100", "0123456789\n".repeat(100)));
}

#[tokio::test]
async fn a_huge_error_message_is_cut() {
    let harness = setup().tool(ScriptedTool::new("moan").fails(ErrorKind::ExecutionError, "é".repeat(1 << 20))).build();
    let (_, message) = failure(&harness.call("moan", json!({})).await);
    assert!(message.len() < 110 * 1024 && message.ends_with("… (message cut)"));
}

#[tokio::test]
async fn refused_calls_and_answers_of_hooks_are_bounded_and_redacted_too() {
    struct Answers;
    impl haft_engine::Hook for Answers {
        fn name(&self) -> &'static str {
            "answers"
        }
        fn before<'a>(
            &'a self,
            call: haft_engine::HookCall<'a>,
        ) -> haft_contract::BoxFuture<'a, Result<haft_engine::HookDecision, String>> {
            let answer = call.call.tool == "answered";
            Box::pin(async move {
                let text = format!("sk-ant-api03-abcdefghijklmnop {}", "x".repeat(300_000));
                Ok(if answer { haft_engine::HookDecision::Answer(ToolOutput::text(text)) } else { haft_engine::HookDecision::Continue })
            })
        }
    }
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let harness = setup()
        .tool(ScriptedTool::new("typed").schema(schema))
        .tool(ScriptedTool::new("answered"))
        .engine(|builder| builder.hook(std::sync::Arc::new(Answers)))
        .build();
    let (_, message) = failure(&harness.call("typed", json!({"n": "sk-ant-api03-abcdefghijklmnop"})).await);
    assert!(message.contains("[redacted:anthropic_key]"), "{message}");
    let shown = text(&harness.call("answered", json!({})).await);
    assert!(shown.starts_with("[redacted:anthropic_key]") && shown.len() < 110 * 1024 && shown.contains("Output truncated"));
    assert!(!format!("{:?}", harness.history().await).contains("abcdefghijklmnop"));
}

#[tokio::test]
async fn a_secret_across_the_cut_does_not_get_through() {
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    for back in [1, 10, 30, 39] {
        let output = format!("{} {secret} {}", "x".repeat(100 * 1024 - back - 1), "y".repeat(50_000));
        let harness = setup().tool(ScriptedTool::new("leak").returns(output)).build();
        let shown = text(&harness.call("leak", json!({})).await);
        assert!(!shown.contains("ghp_"), "{back} before the cut");
    }
}

#[tokio::test]
async fn a_thousand_blocks_are_one_bounded_text_and_one_spill() {
    let tool = ScriptedTool::new("blocks").body(|_, _| async {
        let mut output = ToolOutput::default();
        (0..1000).for_each(|n| output.content.push(haft_contract::Content::Text(format!("{n} {}", "z".repeat(300)))));
        Ok(output)
    });
    let harness = setup().tool(tool).build();
    let result = harness.call("blocks", json!({})).await;
    let shown = text(&result);
    assert!(shown.len() < 110 * 1024 && shown.starts_with("0 zzz"), "{}", shown.len());
    let folder = std::path::Path::new(spill_path(&shown)).parent().unwrap();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
}
