//! What a conversation is told when a sub-agent in the background has ended.

use haft_contract::{SubAgentState, SubAgentStatus};
use haft_text::truncate::first_chars;

/// How much of an answer a notice has.
const ANSWER_CHARACTERS: usize = 16_000;

/// The notice for the user in one line, and the one for the model with the answer.
pub(crate) fn end_notice(status: &SubAgentStatus) -> (String, String) {
    let SubAgentStatus { id, label, agent_type, calls, .. } = status;
    let state = match status.state {
        SubAgentState::Done => "is done".to_owned(),
        SubAgentState::TimedOut => "has timed out".to_owned(),
        SubAgentState::Killed => "was killed".to_owned(),
        state => format!("has {state}"),
    };
    let why = status.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    let line = format!("sub-agent '{label}' ({agent_type}) {state}{why}");
    let answer = status.answer.as_deref().unwrap_or_default();
    let shown = first_chars(answer, ANSWER_CHARACTERS);
    let rest = if shown.len() < answer.len() {
        format!("\n[The answer is cut here. All of it: subagents with action=result and target={id}.]")
    } else {
        String::new()
    };
    let answer = match (shown.trim().is_empty(), status.state) {
        (true, _) => " It left no text.".to_owned(),
        (false, SubAgentState::Done) => format!(" Its answer:\n{shown}{rest}"),
        (false, _) => format!(" Its last text:\n{shown}{rest}"),
    };
    (line.clone(), format!("[{line}. Session {id}, {calls} calls.{answer}]"))
}

#[cfg(test)]
mod tests {
    use haft_testkit::sub_agent_status;

    use super::*;

    fn status(state: SubAgentState, answer: &str) -> SubAgentStatus {
        SubAgentStatus { label: "look".into(), calls: 2, answer: Some(answer.to_owned()), ..sub_agent_status("s1", state) }
    }

    #[test]
    fn notice_has_the_answer_or_says_where_all_of_it_is() {
        let (line, text) = end_notice(&status(SubAgentState::Done, "found it"));
        assert_eq!(line, "sub-agent 'look' (explore) is done");
        assert_eq!(text, "[sub-agent 'look' (explore) is done. Session s1, 2 calls. Its answer:\nfound it]");
        let mut failed = status(SubAgentState::Failed, "");
        failed.error = Some("no answer".into());
        assert_eq!(end_notice(&failed).1, "[sub-agent 'look' (explore) has failed: no answer. Session s1, 2 calls. It left no text.]");
        let long = end_notice(&status(SubAgentState::Done, &"ü".repeat(20_000))).1;
        assert!(long.ends_with("ü\n[The answer is cut here. All of it: subagents with action=result and target=s1.]]"), "{long}");
        assert_eq!(long.matches('ü').count(), 16_000);
    }
}
