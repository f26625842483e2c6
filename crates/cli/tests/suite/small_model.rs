//! The small model: it answers the prompt of a page, without tools and without the conversation.

use std::fs;

use haft_testkit::Round;
use serde_json::json;

use super::harness::World;
use super::model::Talk;
use super::network::server;

#[test]
fn small_model_answers_the_prompt_of_a_page_and_sees_nothing_else() {
    let (port, _) = server("<main><p>The licence costs 30 euros.</p></main>");
    let url = format!("http://127.0.0.2:{port}/");
    let call = Round::Calls(vec![("c".to_owned(), "web_fetch".to_owned(), json!({ "url": url, "prompt": "What does it cost?" }))]);
    let talk = Talk::new("openai", vec![call, Round::Text("30 euros".to_owned()), Round::Text("done".to_owned())]);
    let file = talk.world.path("config/haft/config.toml");
    let provider = fs::read_to_string(&file).unwrap();
    let own = format!("small_model = 'work/m1'\nnetwork.allow = ['127.0.0.2:{port}']\nweb.respect_robots = 'off'\n");
    fs::write(&file, own + &provider).unwrap();
    talk.turn(&["the user's secret plan"]);
    let asked = talk.server.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    let question = asked[1].body.to_string();
    assert!(question.contains("The licence costs 30 euros.") && question.contains("Question: What does it cost?"), "{question}");
    assert!(!question.contains("secret plan") && asked[1].body.get("tools").is_none(), "{question}");
    let (_, result) = &talk.results()[0];
    let text = result["result"].as_str().unwrap();
    assert!(text.contains("Content: the answer of work/m1 to your prompt") && text.contains("\n30 euros\n"), "{text}");
}

#[test]
fn small_model_without_a_provider_costs_the_answer_and_not_the_call() {
    let (port, _) = server("<main><p>The licence costs 30 euros.</p></main>");
    let config = format!("small_model = 'nowhere/m1'\nnetwork.allow = ['127.0.0.2:{port}']\nweb.respect_robots = 'off'\n");
    let world = World::with_config(&config);
    let (code, result) = world.call("web_fetch", &json!({ "url": format!("http://127.0.0.2:{port}/"), "prompt": "What does it cost?" }));
    let text = result["result"].as_str().unwrap();
    let why = "(nowhere/m1 did not answer your prompt: small_model cannot be used: there is no provider 'nowhere'.";
    assert!(code == 0 && text.contains("costs 30 euros") && text.contains(why), "{text}");
    let checked = world.run(&["config", "check"]);
    assert!(checked.all().contains("'small_model': there is no provider 'nowhere'"), "{}", checked.all());
}
