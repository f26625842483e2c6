//! Every example runs, and shows what it says.

#[allow(dead_code, reason = "a program of its own")]
#[path = "../../examples/custom_approver.rs"]
mod custom_approver;
#[allow(dead_code, reason = "a program of its own")]
#[path = "../../examples/custom_store.rs"]
mod custom_store;
#[allow(dead_code, reason = "a program of its own")]
#[path = "../../examples/minimal_agent.rs"]
mod minimal_agent;
#[allow(dead_code, reason = "a program of its own")]
#[path = "../../examples/own_parts.rs"]
mod own_parts;
#[allow(dead_code, reason = "a program of its own")]
#[path = "../../examples/policy_from_code.rs"]
mod policy_from_code;
#[allow(dead_code, reason = "a program of its own")]
#[path = "../../examples/tool_with_state.rs"]
mod tool_with_state;
#[allow(dead_code, reason = "a program of its own")]
#[path = "../../examples/web_service.rs"]
mod web_service;

#[tokio::test]
async fn minimal_agent_calls_its_tool_and_answers() {
    assert_eq!(minimal_agent::run().await.unwrap(), r#"[{"status":"success","result":"Hello, Ann!"}] I greeted Ann."#);
}

#[tokio::test]
async fn tool_with_state_counts_and_its_change_is_undone() {
    assert_eq!(tool_with_state::run().await.unwrap(), "1. sharpen the axe\n2. oil the handle\n---\n1. sharpen the axe\n");
}

#[tokio::test]
async fn web_service_streams_the_events_of_a_turn() {
    let answer = web_service::run().await.unwrap();
    let events: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix(r#"{"type":""#)?.split('"').next()).collect();
    assert_eq!((events.first(), events.last()), (Some(&"turn_start"), Some(&"turn_end")), "{answer}");
    assert!(events.contains(&"text_delta") && answer.contains("Four."), "{answer}");
}

#[tokio::test]
async fn custom_approver_is_asked_once_for_what_it_allows_for_the_session() {
    let shown = custom_approver::run().await.unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], r#"{"status":"success","result":"asked dictionary.example"}"#);
    assert!(lines[1].contains("The user said no: only dictionary.example"), "{shown}");
    assert!(lines[2].starts_with(r#"{"status":"success","result":"asked dictionary.example"#), "{shown}");
}

#[tokio::test]
async fn custom_store_gets_every_record() {
    let lines = custom_store::run().await.unwrap();
    assert_eq!(lines, "write_file Begun\nwrite_file Success\nread_file Error(\"file_not_found\")");
}

#[tokio::test]
async fn policy_from_code_decides() {
    let shown = policy_from_code::run().await.unwrap();
    assert_eq!(shown, "write_file: done\nwrite_file: permission_denied\nweb_fetch: tool_not_available\n");
}

#[tokio::test]
async fn parts_of_the_program_serve_the_built_in_tools() {
    let shown = own_parts::run().await.unwrap();
    for part in ["2026-01-01T00:00:00", "canned", "no disk", "get_current_time ok, http_request ok, read_file ok"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
