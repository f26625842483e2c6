//! Approvals that are answered from a channel.

use std::sync::Arc;

use haft_channels::{ButtonPress, ChannelApproval, InboxVerdict, IncomingMessage};
use serde_json::json;

use crate::common::Reply;
use crate::setup::{message, setup, until};

fn notice(id: &str) -> ChannelApproval {
    ChannelApproval {
        id: id.into(),
        fingerprint: "f".into(),
        session: "session-1".into(),
        tool: "exec".into(),
        effects: vec!["exec rm x".into()],
        reason: "it is beyond the access level".into(),
    }
}

#[tokio::test]
async fn approval_is_answered_by_the_owner_with_a_button_and_the_first_answer_counts() {
    let setup = setup(|channel| channel.owners = vec!["6".into()]).await;
    setup.inbox.accept("phone", message("6", "m1", "run it")).await.unwrap();
    until(|| setup.server.received().len() == 1).await;
    setup.inbox.approval_opened(notice("a1")).await;
    let asked = setup.server.received()[1].json();
    assert!(asked["text"].as_str().unwrap().starts_with("Approval needed for exec:\n- exec rm x\n"), "{asked}");
    let value = asked["reply_markup"]["inline_keyboard"][0][0]["callback_data"].as_str().unwrap().to_owned();
    let press = |sender: &str, id: &str, value: &str| IncomingMessage {
        conversation: "6".into(),
        press: Some(ButtonPress { value: value.to_owned(), acknowledge: None }),
        ..message(sender, id, "")
    };
    for (sender, id, value, expected) in [
        // Another sender, a guess, another conversation, then the owner; the second press is too late.
        ("5", "p1", value.as_str(), InboxVerdict::Ignored),
        ("6", "p2", "haft:00000000000000000000000000000000:1", InboxVerdict::Ignored),
        ("6", "p3", "haft:", InboxVerdict::Ignored),
        ("6", "p4", value.as_str(), InboxVerdict::Answered),
        ("6", "p5", value.as_str(), InboxVerdict::Ignored),
    ] {
        assert_eq!(setup.inbox.accept("phone", press(sender, id, value)).await, Ok(expected), "{sender} {value}");
    }
    assert_eq!(setup.answers.0.lock().unwrap()[0], ("a1".into(), true, "phone 6".into()));
    setup.inbox.approval_closed("a1", "once", "page 'link'").await;
    let closed = setup.server.received().last().unwrap().clone();
    assert_eq!(closed.line, "POST /botTOKEN/editMessageText");
    assert!(closed.json()["text"].as_str().unwrap().ends_with("Answered: once, by page 'link'."), "{:?}", closed.json());
    assert_eq!(setup.inbox.accept("phone", press("6", "p6", &value)).await, Ok(InboxVerdict::Ignored));
}

#[tokio::test]
async fn question_that_is_answered_before_it_has_arrived_loses_its_buttons() {
    let setup = setup(|channel| channel.owners = vec!["6".into()]).await;
    setup.inbox.accept("phone", message("6", "m1", "run it")).await.unwrap();
    until(|| setup.server.received().len() == 1).await;
    let sent = Reply::ok(json!({"ok": true, "result": {"message_id": 7}}).to_string());
    setup.server.answer(vec![Reply::Answer(429, "retry-after: 0.3\r\n", "{}".into()), sent]);
    let inbox = Arc::clone(&setup.inbox);
    let asking = tokio::spawn(async move { inbox.approval_opened(notice("a1")).await });
    until(|| setup.server.received().len() == 1).await;
    setup.inbox.approval_closed("a1", "denied", "page 'link'").await;
    asking.await.unwrap();
    let lines: Vec<String> = setup.server.received().into_iter().map(|request| request.line).collect();
    assert_eq!(lines, ["POST /botTOKEN/sendMessage", "POST /botTOKEN/sendMessage", "POST /botTOKEN/editMessageText"]);
}

#[tokio::test]
async fn approval_is_not_shown_where_nobody_may_answer() {
    let setup = setup(|_| {}).await;
    setup.inbox.accept("phone", message("5", "m1", "run it")).await.unwrap();
    until(|| setup.server.received().len() == 1).await;
    setup.inbox.approval_opened(notice("a1")).await;
    assert_eq!(setup.server.received().len(), 1);
}
