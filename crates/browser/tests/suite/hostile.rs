//! Pages that are broken, endless or hostile. After each of them the browser still works.

use std::time::Duration;

use haft_contract::ErrorKind;
use haft_contract::ports::{BrowserAction, PageAct, PictureOptions, WaitCondition};

use crate::lifecycle::{kill, processes_with};
use crate::server::{Page, Server};
use crate::world::{World, click, options};

const LINK: &str = "<a href='/file'>Get</a>";

fn pages() -> Vec<(&'static str, Page)> {
    let many = format!("<h1>Many</h1>{}", (0..100_000).map(|at| format!("<p>Paragraph {at}</p>")).collect::<Vec<_>>().concat());
    vec![
        ("/alerts", Page::html("<h1>Loop</h1><script>setTimeout(() => { while (true) alert('again') })</script>")),
        ("/storm", Page::html("<button onclick=\"for (let at = 0; at < 60; at++) window.open('about:blank', '_blank')\">Open</button>")),
        ("/many", Page::html(&many)),
        ("/busy", Page::html("<button onclick=\"const end = Date.now() + 4000; while (Date.now() < end);\">Work</button>")),
        (
            "/leave",
            Page::html("<button>Touch</button><script>onbeforeunload = (event) => { event.preventDefault(); return 'stay' }</script>"),
        ),
        ("/huge", Page::html(LINK)),
        ("/file", Page { endless: true, ..Page::file("huge.bin", "") }),
        ("/to-file", Page::redirect("file:///etc/passwd")),
        ("/loop", Page::redirect("/loop")),
        ("/canvas", Page::html("<canvas id=c width=40 height=30></canvas><script>c.getContext('2d').fillRect(0,0,9,9)</script>")),
        ("/empty", Page::html("")),
        ("/good", Page::html("<h1>Good</h1>")),
    ]
}

/// The browser answers as if nothing had happened.
async fn works(world: &World, server: &Server, after: &str) {
    world.open(&server.url("/good")).await;
    assert_eq!(world.snapshot().await, "- heading \"Good\" [level=1]", "after {after}");
}

pub(crate) async fn hostile_pages_are_survived() {
    let world = World::new();
    let server = Server::of(&pages()).await;
    alert_loop(&world, &server).await;
    storm_of_windows(&world, &server).await;
    many_elements(&world, &server).await;
    busy_script(&world, &server).await;
    crashed_tab(&world, &server).await;
    leaving_is_not_refused(&world, &server).await;
    endless_download(&world, &server).await;
    refused_addresses(&world, &server).await;
    pictures(&world, &server).await;
    killed_browser(&world, &server).await;
}

async fn alert_loop(world: &World, server: &Server) {
    let opened = world.perform(BrowserAction::Open(server.url("/alerts"))).await;
    let waited = world
        .perform_in(
            None,
            BrowserAction::Act(PageAct::Wait(WaitCondition { text: Some("never".into()), ..WaitCondition::default() })),
            Duration::from_secs(5),
        )
        .await;
    let notes = [opened.map(|reply| reply.notes.join(" ")), waited.map(|reply| reply.notes.join(" "))]
        .map(|outcome| outcome.unwrap_or_else(|error| error.message().to_owned()));
    assert!(notes.iter().any(|notes| notes.contains("more than 10 dialogs one after the other, so the tab was closed")), "{notes:?}");
    works(world, server, "an alert loop").await;
}

async fn storm_of_windows(world: &World, server: &Server) {
    world.open(&server.url("/storm")).await;
    let clicked = world.click("\"Open\"").await;
    let tabs = world.perform(BrowserAction::Tabs).await.unwrap();
    let count = tabs.details["tabs"].as_array().unwrap().len();
    assert!(count <= 16, "{count} tabs; {clicked:?}");
    world.browsers_stop().await;
    works(world, server, "a storm of windows").await;
}

async fn many_elements(world: &World, server: &Server) {
    world.open(&server.url("/many")).await;
    let reply = world.perform(BrowserAction::Snapshot(options())).await.unwrap();
    let page = reply.page.unwrap();
    assert!((70_000..90_000).contains(&page.len()), "{}", page.len());
    assert_eq!(reply.notes, ["The page has more: use selector, interactive=true, compact=true, or a larger maxChars to see it."]);
    works(world, server, "a page of 100,000 elements").await;
}

async fn busy_script(world: &World, server: &Server) {
    world.open(&server.url("/busy")).await;
    let button = world.find("\"Work\"").await;
    let late = world.perform_in(None, BrowserAction::Act(click(&button)), Duration::from_secs(2)).await.unwrap_err();
    assert_eq!(
        (late.kind(), late.message()),
        (ErrorKind::Timeout, "It was not done within 2 s. Give more time with timeoutMs, or look at the page with a snapshot.")
    );
    works(world, server, "a script that takes seconds").await;
}

async fn crashed_tab(world: &World, server: &Server) {
    world.open(&server.url("/good")).await;
    world.perform_in(None, BrowserAction::Navigate("chrome://crash".into()), Duration::from_secs(10)).await.unwrap_err();
    let mut unread = world.perform(BrowserAction::Snapshot(options())).await;
    for _ in 0..100 {
        if unread.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        unread = world.perform(BrowserAction::Snapshot(options())).await;
    }
    let unread = unread.unwrap_err();
    assert!(unread.message().contains("has crashed: open it again with action=navigate"), "{}", unread.message());
    world.navigate(&server.url("/good")).await;
    assert_eq!(world.snapshot().await, "- heading \"Good\" [level=1]");
}

async fn leaving_is_not_refused(world: &World, server: &Server) {
    world.open(&server.url("/leave")).await;
    world.click("\"Touch\"").await;
    world.navigate(&server.url("/good")).await;
    assert_eq!(world.snapshot().await, "- heading \"Good\" [level=1]");
}

async fn endless_download(world: &World, server: &Server) {
    world.open(&server.url("/huge")).await;
    let element = world.find("\"Get\"").await;
    let refused = world.perform(BrowserAction::Download { element }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FileTooLarge, "{}", refused.message());
    works(world, server, "an endless download").await;
}

async fn refused_addresses(world: &World, server: &Server) {
    let closed = std::net::TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap().port();
    for (url, expected) in [
        (server.url("/to-file"), "the browser does not go there (ERR_UNSAFE_REDIRECT)"),
        (server.url("/loop"), "it cannot be reached (ERR_TOO_MANY_REDIRECTS)"),
        (server.url("/").replace("http:", "https:"), "it cannot be reached (ERR_CONNECTION_CLOSED)"),
        (format!("http://127.0.0.2:{closed}/"), "was not reached: it does not answer"),
        ("http://127.0.0.1:1/".into(), "the browser does not go there (ERR_UNSAFE_PORT)"),
        ("nonsense".into(), "is not an address that a browser opens"),
    ] {
        let refused = world.perform(BrowserAction::Navigate(url.clone())).await.unwrap_err();
        assert!(refused.message().contains(expected), "{url}: {}", refused.message());
    }
    works(world, server, "addresses that lead nowhere").await;
}

async fn pictures(world: &World, server: &Server) {
    world.open(&server.url("/canvas")).await;
    assert_eq!(world.snapshot().await, "- canvas [ref=e1]");
    let picture =
        world.perform(BrowserAction::Screenshot(PictureOptions { element: Some("e1".into()), ..PictureOptions::default() })).await.unwrap();
    let (mime, data) = picture.picture.unwrap();
    assert_eq!((mime.as_str(), &data[16..24]), ("image/png", &[0, 0, 0, 40, 0, 0, 0, 30][..]), "the size of the canvas");
    world.open(&server.url("/empty")).await;
    assert_eq!(world.snapshot().await, "(nothing that can be read: the page may be empty, or a picture; action=screenshot shows it)");
}

async fn killed_browser(world: &World, server: &Server) {
    world.open(&server.url("/good")).await;
    let waiting = world.act(PageAct::Wait(WaitCondition { text: Some("never".into()), ..WaitCondition::default() }));
    let killed = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        processes_with(&world.data().join("run").to_string_lossy()).into_iter().for_each(kill);
    };
    let (outcome, ()) = tokio::join!(waiting, killed);
    assert_eq!(
        outcome.unwrap_err().message(),
        "The browser has ended. Open the page again: that starts a new one, without the earlier cookies."
    );
    works(world, server, "the death of the browser").await;
}
