//! The agent of an embedding program.

use haft::providers::{self, Protocol};
use haft::{Agent, AgentEvent, EndReason};
use haft_testkit::{ModelServer, Round};
use serde_json::json;

#[tokio::test]
async fn conversation_in_a_state_folder_is_resumed_in_every_protocol() {
    for protocol in Protocol::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (work, state) = (folder.path().join("work"), folder.path().join("state"));
        std::fs::create_dir(&work).unwrap();
        let script = vec![
            Round::call("1", "write_file", json!({"path": "a.txt", "content": "x"})),
            Round::Text("Written.".into()),
            Round::Text("I wrote a.txt.".into()),
        ];
        let server = ModelServer::start(script).unwrap();
        let builder = || {
            let model = providers::at(protocol, server.url(), "m1");
            Agent::builder().provider(model).toolbox(|tools| tools.workspace(&work).state(&state))
        };
        let agent = builder().build().await.unwrap();
        let end = agent.answer("Write a file.").await;
        assert_eq!((end.reason, end.text.as_str(), end.calls), (EndReason::Done, "Written.", 1), "{protocol}: {:?}", end.error);
        assert_eq!(std::fs::read_to_string(work.join("a.txt")).unwrap(), "x");
        let (before, session) = (agent.messages().await, agent.session().id().to_string());
        drop(agent);
        let resumed = builder().resume(session.as_str()).build().await.unwrap();
        assert_eq!((resumed.messages().await, &**resumed.session().id()), (before, session.as_str()), "{protocol}");
        assert_eq!(resumed.answer("What did you do?").await.text, "I wrote a.txt.");
    }
}

#[tokio::test]
async fn dropped_turn_is_stopped_and_the_next_one_works() {
    let hold = haft_testkit::Hold::default();
    let waiting = Round::Text("never".into()).held(haft_testkit::Moment::Start, &hold);
    let server = ModelServer::start(vec![waiting, Round::Text("second".into())]).unwrap();
    let agent = Agent::builder().provider(providers::at(Protocol::OpenAi, server.url(), "m1")).build().await.unwrap();
    let mut first = agent.ask("one");
    assert!(matches!(first.next().await, Some(AgentEvent::Start { .. })));
    // The first answer is under way, so that the second is the next.
    let reached = tokio::task::spawn_blocking({
        let hold = hold.clone();
        move || hold.reached()
    });
    tokio::select! {
        event = first.next() => panic!("no answer was let through: {event:?}"),
        reached = reached => assert!(reached.unwrap()),
    }
    drop(first);
    assert_eq!(agent.answer("two").await.text, "second");
    hold.release();
}

#[tokio::test]
async fn agent_without_a_model_says_which_method_gives_one() {
    let error = Agent::builder().build().await.unwrap_err();
    assert_eq!(error.to_string(), "An agent needs a model: call `AgentBuilder::provider`.");
    let key = missing_key();
    assert!(key.contains("ANTHROPIC_API_KEY"), "{key}");
}

/// The error of a provider whose key is not set; where it is set, there is none to see.
fn missing_key() -> String {
    providers::anthropic("claude-sonnet-4-5").map_or_else(|error| error.to_string(), |_| "ANTHROPIC_API_KEY".into())
}
