//! Who is let in, what is taken once, floods, and codes that are guessed.

use std::time::{Duration, SystemTime};

use haft_channels::{InboxVerdict, IncomingMessage, new_code, policy_channel};

use crate::setup::{message, setup, until};

#[tokio::test]
async fn message_of_a_listed_sender_is_answered_once_in_its_session() {
    let setup = setup(|_| {}).await;
    assert_eq!(setup.inbox.accept("phone", message("5", "m1", "hi")).await, Ok(InboxVerdict::Taken));
    assert_eq!(setup.inbox.accept("phone", message("5", "m1", "hi")).await, Ok(InboxVerdict::Duplicate));
    assert_eq!(setup.inbox.accept("phone", message("5", "m2", "again")).await, Ok(InboxVerdict::Taken));
    assert_eq!(setup.inbox.accept("phone", message("5", "m3", "fail")).await, Ok(InboxVerdict::Taken));
    until(|| setup.server.received().len() == 3).await;
    let turns = setup.host.turns.lock().unwrap().clone();
    let turn = |text: &str| ("session-1".to_owned(), text.to_owned());
    assert_eq!(turns, [turn("hi"), turn("again"), turn("fail")]);
    let texts: Vec<String> = setup.server.received().iter().map(|request| request.json()["text"].as_str().unwrap().to_owned()).collect();
    // Why it failed is for the owner alone.
    let failed = "This message could not be answered. The owner of this Haft can see why.";
    assert_eq!(texts, ["echo hi", "echo again", failed]);
    let record = setup.store.conversation_of("session-1").await.unwrap().unwrap();
    assert_eq!((record.channel.as_str(), record.conversation.as_str(), record.is_owner), ("phone", "direct:5", false));
    assert_eq!(policy_channel(&record), "phone");
}

#[tokio::test]
async fn unknown_senders_get_no_answer_and_reach_nothing() {
    let setup = setup(|_| {}).await;
    let doubted = IncomingMessage { doubt: Some("not verified".into()), ..message("5", "m9", "hi") };
    for message in [message("6", "m1", "hi"), message("boss", "m2", "hi"), message("", "m3", "hi"), doubted] {
        assert_eq!(setup.inbox.accept("phone", message).await, Ok(InboxVerdict::Unknown));
    }
    assert_eq!(setup.inbox.accept("fax", message("5", "m4", "hi")).await, Ok(InboxVerdict::Ignored));
    assert!(setup.host.turns.lock().unwrap().is_empty() && setup.server.received().is_empty());
}

#[tokio::test]
async fn group_has_one_session_that_follows_its_newest_sender() {
    let setup = setup(|channel| channel.owners = vec!["6".into()]).await;
    let in_group = |sender: &str, id: &str| IncomingMessage { conversation: "-100".into(), is_group: true, ..message(sender, id, id) };
    for (sender, id) in [("5", "m1"), ("6", "m2"), ("6", "m3"), ("5", "m4")] {
        assert_eq!(setup.inbox.accept("phone", in_group(sender, id)).await, Ok(InboxVerdict::Taken));
    }
    until(|| setup.server.received().len() == 4).await;
    let turns: Vec<String> = setup.host.turns.lock().unwrap().iter().map(|(session, _)| session.clone()).collect();
    assert_eq!(turns, ["session-1"; 4]);
    // Each time the sender is another one, the session is opened again with other rights.
    assert_eq!(setup.host.changed.lock().unwrap().len(), 2);
    let record = setup.store.conversation_of("session-1").await.unwrap().unwrap();
    assert_eq!((policy_channel(&record).as_str(), record.is_owner), ("phone:-100", false));
}

#[tokio::test]
async fn thousand_messages_of_one_sender_are_bounded() {
    let setup = setup(|_| {}).await;
    let mut taken = 0;
    for number in 0..1_000 {
        match setup.inbox.accept("phone", message("5", &format!("m{number}"), "flood")).await.unwrap() {
            InboxVerdict::Taken => taken += 1,
            verdict => assert_eq!(verdict, InboxVerdict::Limited),
        }
    }
    assert!((1..=30).contains(&taken), "{taken} were taken");
    // Others are not shut out by it.
    assert_eq!(setup.inbox.accept("phone", message("77", "x", "hi")).await, Ok(InboxVerdict::Unknown));
}

#[tokio::test]
async fn silent_conversations_take_no_place_of_others() {
    let senders: Vec<String> = (1000..1100).map(|number| number.to_string()).collect();
    let allowed = senders.clone();
    let setup = setup(|channel| channel.allow_from = allowed).await;
    for (number, sender) in senders.iter().enumerate() {
        let verdict = setup.inbox.accept("phone", message(sender, &format!("m{number}"), "hi")).await;
        assert_eq!(verdict, Ok(InboxVerdict::Taken), "{sender}");
        until(|| setup.server.received().len() == number + 1).await;
    }
}

#[tokio::test]
async fn message_without_a_place_is_heard_when_it_comes_again() {
    let senders: Vec<String> = (1000..1065).map(|number| number.to_string()).collect();
    let setup = setup(|channel| channel.allow_from = senders).await;
    *setup.host.hangs.lock().unwrap() = true;
    for number in 0..64 {
        let verdict = setup.inbox.accept("phone", message(&(1000 + number).to_string(), &format!("m{number}"), "hi")).await;
        assert_eq!(verdict, Ok(InboxVerdict::Taken));
    }
    let late = || message("1064", "late", "hi");
    assert_eq!(setup.inbox.accept("phone", late()).await, Ok(InboxVerdict::Limited));
    until(|| setup.host.turns.lock().unwrap().len() == 64).await;
    setup.host.release();
    until(|| setup.server.received().len() == 64).await;
    // A conversation has ended a moment after its answer has arrived. A sender may write 20 messages at once, and then one in two seconds.
    let mut verdict = Ok(InboxVerdict::Limited);
    for pause in [50; 15].into_iter().chain([2_100; 8]) {
        verdict = setup.inbox.accept("phone", late()).await;
        if verdict != Ok(InboxVerdict::Limited) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    assert_eq!(verdict, Ok(InboxVerdict::Taken));
    assert_eq!(setup.inbox.accept("phone", late()).await, Ok(InboxVerdict::Duplicate));
    until(|| setup.server.received().len() == 65).await;
}

#[tokio::test]
async fn code_lets_one_sender_in_once() {
    let setup = setup(|_| {}).await;
    let (code, later) = (new_code().unwrap(), SystemTime::now() + Duration::from_mins(10));
    setup.service.open_code("phone", &code, later).await.unwrap();
    assert_eq!(setup.inbox.accept("phone", message("8", "m1", &format!("/pair {code}"))).await, Ok(InboxVerdict::Paired));
    assert_eq!(setup.inbox.accept("phone", message("8", "m2", "hi")).await, Ok(InboxVerdict::Taken));
    assert_eq!(setup.inbox.accept("phone", message("9", "m3", &code)).await, Ok(InboxVerdict::WrongCode), "it is used up");
    let senders = setup.store.senders().await.unwrap();
    assert_eq!(senders.iter().map(|sender| (sender.sender.as_str(), sender.name.as_str())).collect::<Vec<_>>(), [("8", "boss")]);
    assert!(setup.store.remove_sender("phone", "8").await.unwrap());
    assert_eq!(setup.inbox.accept("phone", message("8", "m4", "hi")).await, Ok(InboxVerdict::Unknown));
    let code = new_code().unwrap();
    setup.service.open_code("phone", &code, SystemTime::now() - Duration::from_secs(1)).await.unwrap();
    assert_eq!(setup.inbox.accept("phone", message("9", "m5", &code)).await, Ok(InboxVerdict::WrongCode), "it has expired");
}

#[tokio::test]
async fn guessed_codes_are_limited_for_each_sender_and_then_gone() {
    let setup = setup(|_| {}).await;
    let (code, later) = (new_code().unwrap(), SystemTime::now() + Duration::from_mins(10));
    setup.service.open_code("phone", &code, later).await.unwrap();
    let guess = |sender: u32, number: u32| message(&sender.to_string(), &format!("{sender}-{number}"), "AAAA-AAAA");
    let mut verdicts = Vec::new();
    for number in 0..8 {
        verdicts.push(setup.inbox.accept("phone", guess(100, number)).await.unwrap());
    }
    let expected = [InboxVerdict::WrongCode; 5].into_iter().chain([InboxVerdict::Limited; 3]).collect::<Vec<_>>();
    assert_eq!(verdicts, expected);
    // Many senders that work together end the code, so that nobody can guess it.
    for sender in 200..220 {
        setup.inbox.accept("phone", guess(sender, 0)).await.unwrap();
    }
    assert_eq!(setup.inbox.accept("phone", message("300", "right", &code)).await, Ok(InboxVerdict::WrongCode));
    assert_eq!(setup.store.senders().await.unwrap(), []);
}
