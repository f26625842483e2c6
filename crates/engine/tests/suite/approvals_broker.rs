//! Questions that are answered by another way than they are asked.

use std::sync::{Arc, Barrier};

use futures_util::FutureExt;
use haft_contract::{
    BoxFuture, CallInfo, ToolCall,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use haft_engine::{AnswerError, ApprovalBroker, ApprovalNotice, FirstOf};
use serde_json::json;
use tokio::sync::broadcast::Receiver;

use crate::asking::{ScriptedUser, argv, asks_about_changes, runner, unguarded};
use crate::harness::{setup, text};

fn question(id: &str) -> ApprovalRequest {
    let call = CallInfo { id: "call".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
    let mut question = ApprovalRequest::new(call, json!({}), Vec::new(), "why not".into());
    (question.id, question.fingerprint) = (id.into(), format!("print of {id}"));
    question
}

fn ids(broker: &ApprovalBroker) -> Vec<String> {
    broker.pending().into_iter().map(|request| request.id).collect()
}

fn notices(receiver: &mut Receiver<ApprovalNotice>) -> Vec<ApprovalNotice> {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

fn asked(id: &str) -> ApprovalNotice {
    ApprovalNotice::Asked { id: id.into() }
}

fn settled(id: &str, answered: bool) -> ApprovalNotice {
    ApprovalNotice::Settled { id: id.into(), answered }
}

/// Puts a question on the broker.
fn lay<'a>(approver: &'a dyn Approver, id: &str) -> BoxFuture<'a, ApprovalAnswer> {
    let mut asking = approver.ask(question(id));
    assert_eq!(asking.as_mut().now_or_never(), None);
    asking
}

#[tokio::test]
async fn an_answer_reaches_its_question_and_others_are_refused() {
    let broker = ApprovalBroker::new();
    let mut heard = broker.subscribe();
    let (one, two) = (lay(&broker, "1"), lay(&broker, "2"));
    assert_eq!(ids(&broker), ["1", "2"]);

    let answer = |id: &str, print: &str| broker.answer(id, print, ApprovalAnswer::Once);
    assert_eq!(answer("3", "print of 3"), Err(AnswerError::Unknown("3".into())));
    assert_eq!(answer("1", "print of 2"), Err(AnswerError::WrongFingerprint("1".into())));
    assert_eq!(answer("1", ""), Err(AnswerError::WrongFingerprint("1".into())));
    assert_eq!(ids(&broker), ["1", "2"], "a wrong answer takes nothing off the broker");

    assert_eq!(broker.answer("2", "print of 2", ApprovalAnswer::Session), Ok(()));
    assert_eq!(two.await, ApprovalAnswer::Session);
    assert_eq!(answer("2", "print of 2"), Err(AnswerError::AlreadyAnswered("2".into())));
    assert_eq!(answer("2", "print of 1"), Err(AnswerError::AlreadyAnswered("2".into())));
    assert_eq!(ids(&broker), ["1"]);
    assert_eq!(answer("1", "print of 1"), Ok(()));
    assert_eq!(one.await, ApprovalAnswer::Once);
    assert_eq!(notices(&mut heard), [asked("1"), asked("2"), settled("2", true), settled("1", true)]);
}

#[tokio::test]
async fn a_question_whose_asker_is_gone_leaves_by_itself() {
    let broker = ApprovalBroker::new();
    let mut heard = broker.subscribe();
    {
        let _asking = lay(&broker, "1");
        assert_eq!(ids(&broker), ["1"]);
    }
    assert_eq!(ids(&broker), Vec::<String>::new());
    assert_eq!(broker.answer("1", "print of 1", ApprovalAnswer::Once), Err(AnswerError::Expired("1".into())));
    assert_eq!(notices(&mut heard), [asked("1"), settled("1", false)]);
}

#[tokio::test]
async fn the_same_question_cannot_be_put_twice() {
    let broker = ApprovalBroker::new();
    let first = lay(&broker, "1");
    let refused = Some(ApprovalAnswer::Deny { comment: Some("this question was asked before; call the tool again.".into()) });
    assert_eq!(broker.ask(question("1")).now_or_never(), refused);
    broker.answer("1", "print of 1", ApprovalAnswer::Once).unwrap();
    assert_eq!(first.await, ApprovalAnswer::Once);
    assert_eq!(broker.ask(question("1")).now_or_never(), refused, "a replay of an old question");
}

#[tokio::test]
async fn of_many_answers_at_once_exactly_one_counts() {
    for round in 0..50 {
        let broker = ApprovalBroker::new();
        let asking = lay(&broker, "1");
        let start = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (broker, start) = (broker.clone(), Arc::clone(&start));
                std::thread::spawn(move || {
                    start.wait();
                    let answer = ApprovalAnswer::Deny { comment: Some(number.to_string()) };
                    broker.answer("1", "print of 1", answer).map(|()| number)
                })
            })
            .collect();
        let said: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let winners: Vec<i32> = said.iter().filter_map(|answer| answer.as_ref().ok().copied()).collect();
        assert_eq!(winners.len(), 1, "round {round}: {said:?}");
        assert_eq!(asking.await, ApprovalAnswer::Deny { comment: Some(winners[0].to_string()) });
        assert_eq!(said.iter().filter(|answer| **answer == Err(AnswerError::AlreadyAnswered("1".into()))).count(), 7);
    }
}

#[tokio::test]
async fn the_broker_bounds_open_and_closed_questions() {
    let broker = ApprovalBroker::new();
    let open: Vec<_> = (0..1024).map(|number| lay(&broker, &number.to_string())).collect();
    let refused = Some(ApprovalAnswer::Deny { comment: Some("too many questions wait for an answer; try again later.".into()) });
    assert_eq!(broker.ask(question("more")).now_or_never(), refused);
    drop(open);
    assert_eq!(broker.pending().len(), 0);

    let _asking = lay(&broker, "last");
    broker.answer("last", "print of last", ApprovalAnswer::Once).unwrap();
    assert_eq!(broker.answer("last", "print of last", ApprovalAnswer::Once), Err(AnswerError::AlreadyAnswered("last".into())));
    assert_eq!(broker.answer("1", "print of 1", ApprovalAnswer::Once), Err(AnswerError::Expired("1".into())));
    assert_eq!(broker.answer("0", "print of 0", ApprovalAnswer::Once), Err(AnswerError::Unknown("0".into())), "the oldest is forgotten");
}

#[test]
fn a_refused_answer_says_what_to_do() {
    let id = || "7".to_owned();
    for (error, message) in [
        (AnswerError::Unknown(id()), "There is no question '7'. List the open questions, and answer one of them."),
        (
            AnswerError::AlreadyAnswered(id()),
            "The question '7' was answered before, and the first answer counts. Nothing was changed; see the history.",
        ),
        (
            AnswerError::WrongFingerprint(id()),
            "The question '7' is about another call than the one this answer was given for. It is still open: read it again.",
        ),
        (
            AnswerError::Expired(id()),
            "The question '7' is no longer open: its time was up, its call ended, or it was answered elsewhere. \
             If the call was not made, it can be asked for again.",
        ),
    ] {
        assert_eq!(error.to_string(), message);
    }
}

#[tokio::test]
async fn a_call_waits_for_the_answer_that_is_meant_for_it() {
    let broker = ApprovalBroker::new();
    let approver = broker.clone();
    let harness = setup()
        .built_in(runner())
        .engine(asks_about_changes)
        .session(move |builder| unguarded(builder).approver(Arc::new(approver)))
        .build();
    let mut heard = broker.subscribe();
    let batch = ["git push a", "git push b"].map(|line| ToolCall::new(line, "exec", argv(line))).to_vec();
    let (results, ()) = tokio::join!(harness.engine.run_all(batch, &harness.session), async {
        for _ in 0..2 {
            heard.recv().await.unwrap();
        }
        let [a, b] = &broker.pending()[..] else { panic!("{:?}", broker.pending()) };
        assert_eq!(
            broker.answer(&a.id, &b.fingerprint, ApprovalAnswer::Once),
            Err(AnswerError::WrongFingerprint(a.id.clone())),
            "an approval for one command is not used for another"
        );
        broker.answer(&b.id, &b.fingerprint, ApprovalAnswer::Deny { comment: None }).unwrap();
        broker.answer(&a.id, &a.fingerprint, ApprovalAnswer::Once).unwrap();
    });
    assert_eq!((text(&results[0]).as_str(), results[1].is_success()), ("ran", false));
}

#[tokio::test]
async fn the_first_of_several_answers_counts_and_the_others_are_no_longer_asked() {
    let (page, chat) = (ApprovalBroker::new(), ApprovalBroker::new());
    let both = FirstOf(vec![Arc::new(page.clone()), Arc::new(chat.clone())]);
    let asking = lay(&both, "1");
    assert_eq!((ids(&page), ids(&chat)), (vec!["1".to_owned()], vec!["1".to_owned()]));
    chat.answer("1", "print of 1", ApprovalAnswer::Session).unwrap();
    assert_eq!(asking.await, ApprovalAnswer::Session);
    assert_eq!(page.answer("1", "print of 1", ApprovalAnswer::Once), Err(AnswerError::Expired("1".into())));
    assert!(page.pending().is_empty());
}

#[tokio::test]
async fn several_are_asked_one_at_a_time_if_one_of_them_must_be() {
    let broker = || Arc::new(ApprovalBroker::new()) as Arc<dyn Approver>;
    let user = || ScriptedUser::saying([]) as Arc<dyn Approver>;
    for (approvers, expected) in [(vec![broker(), broker()], false), (vec![broker(), user()], true), (vec![], false)] {
        assert_eq!(FirstOf(approvers).one_at_a_time(), expected);
    }
    let denied =
        ApprovalAnswer::Deny { comment: Some("no one can approve here. Do without it, or tell the user what you need it for.".into()) };
    assert_eq!(FirstOf(Vec::new()).ask(question("1")).await, denied);
}
