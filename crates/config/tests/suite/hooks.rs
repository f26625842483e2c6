//! Hooks: their fields, their order, and what is wrong with them.

use std::time::Duration;

use haft_config::HookSettings;
use haft_contract::{HookEvent, OnFailure};

use super::fixture::{Fixture, strict_check};

/// Everything of a hook but its place.
fn plain(hook: &HookSettings) -> (Option<&str>, HookEvent, Vec<&str>, &str, Duration, OnFailure, i64) {
    let matches = hook.matches.iter().map(|entry| entry.value.as_str()).collect();
    (hook.name.as_deref(), hook.event, matches, hook.command.as_str(), hook.timeout, hook.on_failure, hook.priority)
}

#[test]
fn every_field_and_every_default() {
    let user = "
[[hooks]]
event = 'before_tool_call'
command = 'one'
[[hooks]]
event = 'after_tool_call'
command = 'two --flag'
[[hooks]]
event = 'tool_result_persist'
command = 'three'
[[hooks]]
name = 'my check'
event = 'before_tool_call'
match = ['exec', 'web_*', 'group:fs', 'effect:write']
command = 'four'
timeout_seconds = 3600
on_failure = 'continue'
priority = -5
";
    let fixture = Fixture::new().user(user);
    let loaded = fixture.load_with(Some(&strict_check));
    assert_eq!(loaded.problems, []);
    let hooks = loaded.provenance.hooks();
    let ten = Duration::from_secs(10);
    assert_eq!(
        hooks.iter().map(plain).collect::<Vec<_>>(),
        [
            (None, HookEvent::BeforeToolCall, vec![], "one", ten, OnFailure::Block, 0),
            (None, HookEvent::AfterToolCall, vec![], "two --flag", ten, OnFailure::Continue, 0),
            (None, HookEvent::ToolResultPersist, vec![], "three", ten, OnFailure::Block, 0),
            (
                Some("my check"),
                HookEvent::BeforeToolCall,
                vec!["exec", "web_*", "group:fs", "effect:write"],
                "four",
                Duration::from_hours(1),
                OnFailure::Continue,
                -5
            ),
        ]
    );
    let places: Vec<_> = hooks.iter().map(|hook| (hook.source.line, hook.source.column)).collect();
    assert_eq!(places, [(Some(2), Some(1)), (Some(5), Some(1)), (Some(8), Some(1)), (Some(11), Some(1))]);
    assert_eq!((hooks[3].matches[1].source.line, hooks[3].matches[1].source.column), (Some(14), Some(18)));
}

#[test]
fn hooks_run_by_priority_then_user_before_project_then_as_written() {
    let hook = |command: &str, priority: i64| format!("[[hooks]]\nevent='before_tool_call'\ncommand='{command}'\npriority={priority}\n");
    let user = [hook("u0", 0), hook("u5", 5), hook("v0", 0), hook("u-1", -1)].concat();
    let project = [hook("p5", 5), hook("p9", 9), hook("p0", 0)].concat();
    let loaded = Fixture::new().user(user).project(project).trusted().load();
    let order: Vec<_> = loaded.provenance.hooks().iter().map(|hook| hook.command.as_str()).collect();
    assert_eq!(order, ["p9", "u5", "p5", "u0", "v0", "p0", "u-1"]);
}

#[test]
fn faults_of_a_hook_are_reported_at_their_place() {
    let events = "before_tool_call, after_tool_call, tool_result_persist";
    let before = "[[hooks]]\nevent = 'before_tool_call'\ncommand = 'x'\n";
    let cases = [
        ("[[hooks]]\ncommand = 'x'\n".to_owned(), "1:1 hooks an entry of 'hooks' has no event | add event = \"before_tool_call\"".to_owned()),
        ("[[hooks]]\nevent = 'after_tool_call'\n".into(), "1:1 hooks an entry of 'hooks' has no command | add command = \"my-check\"".into()),
        ("hooks = [{ event = 'after_tool_call' }]".into(), "1:10 hooks an entry of 'hooks' has no command | add command = \"my-check\"".into()),
        ("[[hooks]]\nevent = 'before_tool_call'\ncommand = ' '\n".into(), "3:11 hooks[].command 'hooks[].command' holds an empty text | write 1 to 65536 bytes of text, or remove it".into()),
        ("[[hooks]]\nevent = 'before_tol_call'\ncommand = 'x'\n".into(), format!("2:9 hooks[].event 'hooks[].event' has the unknown value 'before_tol_call' | did you mean \"before_tool_call\"? There are: {events}")),
        ("[[hooks]]\nevent = 'after_tool_call'\ncommand = 'x'\non_failure = 'block'\n".into(), "4:14 hooks[].on_failure 'hooks[].on_failure' cannot be block after a call: there is nothing left to block | use \"continue\", or event = \"before_tool_call\"".into()),
        (format!("{before}match = []"), "4:9 hooks[].match 'hooks[].match' is empty: the hook would never run | remove the key to run it for every tool, or name the tools".into()),
        (format!("{before}match = ['write_fil', 'exec(']"), "4:23 hooks[].match 'hooks[].match' holds 'exec(': it is neither a tool name nor a pattern | use ASCII letters, digits, '_', '-', '.', and '*' for any run of them".into()),
        (format!("{before}match = ['effect:wrte']"), "4:10 hooks[].match 'hooks[].match' holds 'effect:wrte': there is no such effect | write effect:write".into()),
        (format!("{before}match = ['effect:']"), "4:10 hooks[].match 'hooks[].match' holds 'effect:': it is no name of an effect | write effect:write, effect:exec or the like".into()),
        (format!("{before}match = ['group:fss']"), "4:10 hooks[].match 'hooks[].match' holds 'group:fss': there is no such group | there are: fs, web".into()),
        (format!("{before}timeout_seconds = 0"), "4:19 hooks[].timeout_seconds 'hooks[].timeout_seconds' is '0', which is out of range | use a number from 1 to 3600".into()),
        (format!("{before}priority = -1000001"), "4:12 hooks[].priority 'hooks[].priority' is '-1000001', which is out of range | use a number from -1000000 to 1000000".into()),
        (format!("{before}priority = 'high'"), "4:12 hooks[].priority 'hooks[].priority' must be a whole number, not text | write a number from -1000000 to 1000000, without quotes".into()),
        (format!("{before}on_failure = 'stop'"), "4:14 hooks[].on_failure 'hooks[].on_failure' has the unknown value 'stop' | use one of: continue, block".into()),
        (format!("{before}timeout = 5"), "4:1 hooks[].timeout unknown key 'hooks[].timeout' | did you mean 'hooks[].timeout_seconds'?".into()),
        (before.repeat(101), "301:1 hooks 'hooks' has more than 100 entries | remove some: each one is a program that runs for each call".into()),
    ];
    for (text, expected) in cases {
        let fixture = Fixture::new().user(&text);
        let loaded = fixture.load_with(Some(&strict_check));
        assert_eq!(fixture.problems(&loaded), [format!("error user {expected}")], "{text}");
    }
}
