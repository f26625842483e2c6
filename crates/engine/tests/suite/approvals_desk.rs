//! Questions that are answered by another way than they are asked.

use std::sync::{Arc, Barrier};

use futures_util::FutureExt;
use haft_contract::{Answer, ApprovalRequest, Approver, BoxFuture, CallInfo, ToolCall};
use haft_engine::{AnswerError, ApprovalDesk, DeskNotice, FirstOf};
use serde_json::json;
use tokio::sync::broadcast::Receiver;

use crate::asking::{Person, argv, asks_about_changes, runner, unguarded};
use crate::harness::{setup, text};

fn question(id: &str) -> ApprovalRequest {
    let call = CallInfo { id: "call".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
    let mut question = ApprovalRequest::new(call, json!({}), Vec::new(), "why not".into());
    (question.id, question.fingerprint) = (id.into(), format!("print of {id}"));
    question
}

fn ids(desk: &ApprovalDesk) -> Vec<String> {
    desk.pending().into_iter().map(|request| request.id).collect()
}

fn notices(receiver: &mut Receiver<DeskNotice>) -> Vec<DeskNotice> {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

fn asked(id: &str) -> DeskNotice {
    DeskNotice::Asked { id: id.into() }
}

fn settled(id: &str, answered: bool) -> DeskNotice {
    DeskNotice::Settled { id: id.into(), answered }
}

/// Puts a question on the desk.
fn lay<'a>(approver: &'a dyn Approver, id: &str) -> BoxFuture<'a, Answer> {
    let mut asking = approver.ask(question(id));
    assert_eq!(asking.as_mut().now_or_never(), None);
    asking
}

#[tokio::test]
async fn an_answer_reaches_whoever_asked_and_the_rest_is_refused() {
    let desk = ApprovalDesk::new();
    let mut heard = desk.subscribe();
    let (one, two) = (lay(&desk, "1"), lay(&desk, "2"));
    assert_eq!(ids(&desk), ["1", "2"]);

    let answer = |id: &str, print: &str| desk.answer(id, print, Answer::Once);
    assert_eq!(answer("3", "print of 3"), Err(AnswerError::Unknown("3".into())));
    assert_eq!(answer("1", "print of 2"), Err(AnswerError::WrongFingerprint("1".into())));
    assert_eq!(answer("1", ""), Err(AnswerError::WrongFingerprint("1".into())));
    assert_eq!(ids(&desk), ["1", "2"], "a wrong answer takes nothing off the desk");

    assert_eq!(desk.answer("2", "print of 2", Answer::Session), Ok(()));
    assert_eq!(two.await, Answer::Session);
    assert_eq!(answer("2", "print of 2"), Err(AnswerError::AlreadyAnswered("2".into())));
    assert_eq!(answer("2", "print of 1"), Err(AnswerError::AlreadyAnswered("2".into())));
    assert_eq!(ids(&desk), ["1"]);
    assert_eq!(answer("1", "print of 1"), Ok(()));
    assert_eq!(one.await, Answer::Once);
    assert_eq!(notices(&mut heard), [asked("1"), asked("2"), settled("2", true), settled("1", true)]);
}

#[tokio::test]
async fn a_question_whose_asker_is_gone_leaves_by_itself() {
    let desk = ApprovalDesk::new();
    let mut heard = desk.subscribe();
    {
        let _asking = lay(&desk, "1");
        assert_eq!(ids(&desk), ["1"]);
    }
    assert_eq!(ids(&desk), Vec::<String>::new());
    assert_eq!(desk.answer("1", "print of 1", Answer::Once), Err(AnswerError::Expired("1".into())));
    assert_eq!(notices(&mut heard), [asked("1"), settled("1", false)]);
}

#[tokio::test]
async fn the_same_question_cannot_be_put_twice() {
    let desk = ApprovalDesk::new();
    let first = lay(&desk, "1");
    let refused = Some(Answer::Deny { comment: Some("this very question was put before; call the tool again.".into()) });
    assert_eq!(desk.ask(question("1")).now_or_never(), refused);
    desk.answer("1", "print of 1", Answer::Once).unwrap();
    assert_eq!(first.await, Answer::Once);
    assert_eq!(desk.ask(question("1")).now_or_never(), refused, "a replay of an old question");
}

#[tokio::test]
async fn of_many_answers_at_once_exactly_one_counts() {
    for round in 0..50 {
        let desk = ApprovalDesk::new();
        let asking = lay(&desk, "1");
        let start = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (desk, start) = (desk.clone(), Arc::clone(&start));
                std::thread::spawn(move || {
                    start.wait();
                    let answer = Answer::Deny { comment: Some(number.to_string()) };
                    desk.answer("1", "print of 1", answer).map(|()| number)
                })
            })
            .collect();
        let said: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let winners: Vec<i32> = said.iter().filter_map(|answer| answer.as_ref().ok().copied()).collect();
        assert_eq!(winners.len(), 1, "round {round}: {said:?}");
        assert_eq!(asking.await, Answer::Deny { comment: Some(winners[0].to_string()) });
        assert_eq!(said.iter().filter(|answer| **answer == Err(AnswerError::AlreadyAnswered("1".into()))).count(), 7);
    }
}

#[tokio::test]
async fn the_desk_holds_so_much_and_remembers_so_much() {
    let desk = ApprovalDesk::new();
    let open: Vec<_> = (0..1024).map(|number| lay(&desk, &number.to_string())).collect();
    let refused = Some(Answer::Deny { comment: Some("too many questions wait for an answer; try again later.".into()) });
    assert_eq!(desk.ask(question("more")).now_or_never(), refused);
    drop(open);
    assert_eq!(desk.pending().len(), 0);

    let _asking = lay(&desk, "last");
    desk.answer("last", "print of last", Answer::Once).unwrap();
    assert_eq!(desk.answer("last", "print of last", Answer::Once), Err(AnswerError::AlreadyAnswered("last".into())));
    assert_eq!(desk.answer("1", "print of 1", Answer::Once), Err(AnswerError::Expired("1".into())));
    assert_eq!(desk.answer("0", "print of 0", Answer::Once), Err(AnswerError::Unknown("0".into())), "the oldest is forgotten");
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
             This answer counts for nothing; if the call was not made, it can be asked for again.",
        ),
    ] {
        assert_eq!(error.to_string(), message);
    }
}

#[tokio::test]
async fn a_call_waits_at_the_desk_for_the_answer_that_is_meant_for_it() {
    let desk = ApprovalDesk::new();
    let approver = desk.clone();
    let harness = setup()
        .built_in(runner())
        .engine(asks_about_changes)
        .session(move |builder| unguarded(builder).approver(Arc::new(approver)))
        .build();
    let mut heard = desk.subscribe();
    let batch = ["git push a", "git push b"].map(|line| ToolCall::new(line, "exec", argv(line))).to_vec();
    let (results, ()) = tokio::join!(harness.engine.run_all(batch, &harness.session), async {
        for _ in 0..2 {
            heard.recv().await.unwrap();
        }
        let [a, b] = &desk.pending()[..] else { panic!("{:?}", desk.pending()) };
        assert_eq!(
            desk.answer(&a.id, &b.fingerprint, Answer::Once),
            Err(AnswerError::WrongFingerprint(a.id.clone())),
            "an approval for one command is not used for another"
        );
        desk.answer(&b.id, &b.fingerprint, Answer::Deny { comment: None }).unwrap();
        desk.answer(&a.id, &a.fingerprint, Answer::Once).unwrap();
    });
    assert_eq!((text(&results[0]).as_str(), results[1].is_success()), ("ran", false));
}

#[tokio::test]
async fn the_first_of_several_answers_counts_and_the_others_are_no_longer_asked() {
    let (page, chat) = (ApprovalDesk::new(), ApprovalDesk::new());
    let both = FirstOf(vec![Arc::new(page.clone()), Arc::new(chat.clone())]);
    let asking = lay(&both, "1");
    assert_eq!((ids(&page), ids(&chat)), (vec!["1".to_owned()], vec!["1".to_owned()]));
    chat.answer("1", "print of 1", Answer::Session).unwrap();
    assert_eq!(asking.await, Answer::Session);
    assert_eq!(page.answer("1", "print of 1", Answer::Once), Err(AnswerError::Expired("1".into())));
    assert!(page.pending().is_empty());
}

#[tokio::test]
async fn several_are_asked_one_at_a_time_if_one_of_them_must_be() {
    let desk = || Arc::new(ApprovalDesk::new()) as Arc<dyn Approver>;
    let person = || Person::saying([]) as Arc<dyn Approver>;
    for (approvers, expected) in [(vec![desk(), desk()], false), (vec![desk(), person()], true), (vec![], false)] {
        assert_eq!(FirstOf(approvers).one_at_a_time(), expected);
    }
    let nobody = Answer::Deny { comment: Some("nobody can be asked here. Do without it, or tell the person what you need it for.".into()) };
    assert_eq!(FirstOf(Vec::new()).ask(question("1")).await, nobody);
}
