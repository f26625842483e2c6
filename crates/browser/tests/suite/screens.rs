//! The live view of a browser: pictures, take-over by the user, hand-back, and the recording of what the model did.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use haft_browser::Recordings;
use haft_contract::ports::PageAct;
use haft_contract::ports::{
    BrowserAction, BrowserScreen, BrowserScreens, MouseButton, MouseStep, ScreenControl, ScreenInput, WaitCondition,
};

use crate::server::{Page, Server};
use crate::world::{World, options};

const PAGE: &str = "<style>button{position:fixed;left:0;top:0;width:50vw;height:100vh}input{position:fixed;left:60vw;top:10vh;width:30vw;height:20vh}</style>\
     <button onclick=\"this.textContent='Bought'\">Buy</button><input aria-label=Word>";

#[derive(Default)]
pub(crate) struct TestScreens(Mutex<Option<Weak<dyn BrowserScreen>>>);

impl TestScreens {
    fn screen(&self) -> Arc<dyn BrowserScreen> {
        self.0.lock().unwrap().as_ref().unwrap().upgrade().unwrap()
    }
}

impl BrowserScreens for TestScreens {
    fn started(&self, session: &str, screen: Weak<dyn BrowserScreen>) {
        assert_eq!(session, "s");
        *self.0.lock().unwrap() = Some(screen);
    }
}

fn press(step: MouseStep, x: f64, y: f64) -> ScreenInput {
    ScreenInput::Mouse { step, x, y, button: Some(MouseButton::Left), clicks: 1, modifiers: Vec::new() }
}

pub(crate) async fn user_takes_over_and_hands_back() {
    let (screens, recordings) = (Arc::new(TestScreens::default()), tempfile::tempdir().unwrap());
    let world = World::new().with_screens(Arc::clone(&screens) as _, recordings.path());
    let server = Server::of(&[("/", Page::html(PAGE))]).await;
    world.open(&server.url("/?token=secret")).await;
    let screen = screens.screen();
    let mut view = screen.view(None, "a").await.unwrap();
    while view.jpeg.is_none() {
        view = screen.view(Some(view.version), "a").await.unwrap();
    }
    assert!(view.jpeg.as_ref().unwrap().starts_with(&[0xff, 0xd8]), "a JPEG");
    assert_eq!((view.control, view.url.as_str()), (ScreenControl::Model, server.url("/?token=secret").as_str()));
    let refused = screen.input("a", vec![ScreenInput::Key("x".into())]).await.unwrap_err();
    assert_eq!(refused.message(), "This page does not have the browser: take it over first.");
    // An action that runs is interrupted.
    let waiting = world.act(PageAct::Wait(WaitCondition { text: Some("never".into()), ..WaitCondition::default() }));
    let (interrupted, ()) = tokio::join!(waiting, async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        screen.take_over("a").unwrap();
    });
    assert_eq!(interrupted.unwrap_err().details().unwrap()["reason"], "user_has_browser");
    assert_eq!(
        screen.take_over("b").unwrap_err().message(),
        "The browser was taken over on another page already. Hand it back there first."
    );
    let click = [MouseStep::Press, MouseStep::Release].map(|step| press(step, 0.25, 0.5));
    let field = [MouseStep::Press, MouseStep::Release].map(|step| press(step, 0.75, 0.2));
    let typed = [ScreenInput::Key("h".into()), ScreenInput::Text("ello".into()), ScreenInput::Key("Shift+ArrowLeft".into())];
    screen.input("a", click.into_iter().chain(field).chain(typed).collect()).await.unwrap();
    let told = world.perform_in(None, BrowserAction::Snapshot(options()), Duration::from_millis(500)).await.unwrap_err();
    assert!(told.message().contains("The user has taken over the browser"), "{}", told.message());
    assert_eq!(world.perform(BrowserAction::Status).await.unwrap().text, "The browser runs, with 1 tab. The user has taken it over.");
    let (reply, ()) = tokio::join!(world.perform(BrowserAction::Snapshot(options())), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        screen.hand_back();
    });
    let reply = reply.unwrap();
    let page = reply.page.unwrap();
    assert!(page.contains("button \"Bought\"") && page.contains("]: hello"), "{page}");
    assert!(reply.notes[0].starts_with("The user had the browser for"), "{:?}", reply.notes);
    world.click("button \"Bought\"").await;
    world.fill("textbox \"Word\"", "password").await;
    world.browsers_stop().await;
    // A view ends with its browser, and does not keep it alive.
    let ended = async {
        while let Some(next) = screen.view(Some(view.version), "a").await {
            view = next;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ended).await.unwrap();
    recorded(&Recordings::new(recordings.path()), &server.url("/")).await;
}

/// The steps of the model alone, without what was typed.
async fn recorded(recordings: &Recordings, url: &str) {
    let mut steps = recordings.steps("s");
    for _ in 0..100 {
        if steps.len() >= 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        steps = recordings.steps("s");
    }
    let seen: Vec<_> = steps.iter().map(|step| (step.action.as_str(), step.is_done, step.url.as_str())).collect();
    let expected = [format!("open {url}"), "click button \"Bought\" (e1)".to_owned(), "type into textbox \"Word\" (e2)".to_owned()];
    assert_eq!(seen, expected.iter().map(|action| (action.as_str(), true, url)).collect::<Vec<_>>());
    for step in &steps[..2] {
        assert!(recordings.picture("s", step.number).unwrap().starts_with(&[0xff, 0xd8]), "{step:?}");
    }
    let all = serde_json::to_string(&steps).unwrap();
    assert!(!all.contains("secret") && !all.contains("password"), "{all}");
}
