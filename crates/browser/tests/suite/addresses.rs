//! Address attacks through pages: listeners of the user must not be reached, by no spelling, redirect, name or kind of connection. The
//! session's own server is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_contract::ports::{BrowserAction, ProcessRunner};
use haft_contract::{BoxFuture, CommandRequest, JobOptions};
use haft_host::Resolve;

use crate::server::{Arrived, Page, Server};
use crate::world::World;

/// Answers names from a table; each lookup takes the next of the answers of a name.
#[derive(Default)]
pub(crate) struct Names {
    answers: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: Mutex<HashMap<String, usize>>,
}

impl Names {
    pub(crate) fn of(table: &[(&'static str, &[&[&str]])]) -> Self {
        let parse = |list: &&[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        let answers = table.iter().map(|(name, answers)| (*name, answers.iter().map(parse).collect())).collect();
        Self { answers, ..Self::default() }
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        let mut asked = self.asked.lock().unwrap();
        let count = asked.entry(host.to_owned()).or_default();
        let found = self.answers.get(host).and_then(|answers| answers.get((*count).min(answers.len() - 1)).cloned());
        *count += 1;
        Box::pin(std::future::ready(found.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))))
    }
}

/// Counts connections to addresses that no page may reach.
struct Trap {
    port: u16,
    reached: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Trap {
    async fn set() -> Self {
        let reached = Arc::new(AtomicUsize::new(0));
        let first = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = first.local_addr().unwrap().port();
        let mut listeners = vec![first];
        for host in ["127.0.0.4", "::1"] {
            listeners.extend(tokio::net::TcpListener::bind((host, port)).await.ok());
        }
        let watch = |listener: tokio::net::TcpListener| {
            let reached = Arc::clone(&reached);
            tokio::spawn(async move {
                while listener.accept().await.is_ok() {
                    reached.fetch_add(1, Ordering::SeqCst);
                }
            })
        };
        let tasks = listeners.into_iter().map(watch).collect();
        Self { port, reached, tasks }
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Hosts that mean this machine or a metadata service, in the spellings of D01 to D04, and names that lead there.
const HOSTS: &[&str] = &[
    "127.0.0.1",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "0.0.0.0",
    "0",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.0.0.4",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:4]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[fc00::1]",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "metadata.google.internal",
    "private.test",
    "mixed.test",
    "rebind.test",
    "10.0.0.1",
    "192.168.0.1",
];

/// Tries every kind of connection to every host, and writes down when all of it has failed or ended.
fn attacking_page(port: u16) -> String {
    let hosts = serde_json::json!(HOSTS);
    format!(
        "<h1 id=out>Trying</h1><script>
        const port = {port}, hosts = {hosts}, tries = [];
        const timed = (promise) => Promise.race([promise.catch(() => 0), new Promise((done) => setTimeout(done, 1500))]);
        for (const host of hosts) {{
          const url = `http://${{host}}:${{port}}/`;
          tries.push(timed(fetch(url, {{ mode: 'no-cors' }})));
          tries.push(timed(fetch(url, {{ method: 'POST', mode: 'no-cors', body: 'secret' }})));
          tries.push(timed(new Promise((done) => {{ const image = new Image(); image.onload = image.onerror = done; image.src = url + 'x.png'; }})));
          try {{ tries.push(timed(new Promise((done) => {{ const socket = new WebSocket(`ws://${{host}}:${{port}}/`); socket.onerror = socket.onopen = done; }}))); }} catch {{}}
          navigator.sendBeacon?.(url, 'secret');
          const frame = document.createElement('iframe'); frame.src = url; document.body.append(frame);
        }}
        for (const hop of ['/to-loopback', '/to-other', '/to-name']) tries.push(timed(fetch(hop, {{ mode: 'no-cors' }})));
        tries.push(timed(navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)));
        const peer = new RTCPeerConnection({{ iceServers: [{{ urls: `stun:127.0.0.1:${{port}}` }}] }}), seen = [];
        peer.onicecandidate = (event) => event.candidate && seen.push(event.candidate.candidate);
        peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer));
        Promise.all(tries).then(() => {{ out.textContent = `Tried all, candidates: ${{seen.length}}`; }});
        </script>"
    )
}

pub(crate) async fn no_way_of_a_page_leads_to_other_addresses() {
    let trap = Trap::set().await;
    let port = trap.port;
    let names = Names::of(&[
        ("pages.test", &[&["127.0.0.2"]]),
        ("private.test", &[&["127.0.0.4"]]),
        ("mixed.test", &[&["127.0.0.2", "127.0.0.4"]]),
        ("rebind.test", &[&["127.0.0.2"], &["127.0.0.4"]]),
    ]);
    let mut world = World::with_names(names);
    // Every question is answered with yes: what is left is the address guard.
    Arc::get_mut(&mut world.gate).unwrap().permits_all = true;
    let pages = move |request: &Arrived| match request.path.as_str() {
        "/" => Some(Page::html(&attacking_page(port))),
        "/to-loopback" => Some(Page::redirect(&format!("http://127.0.0.1:{port}/"))),
        "/to-other" => Some(Page::redirect(&format!("http://127.0.0.4:{port}/"))),
        "/to-name" => Some(Page::redirect(&format!("http://private.test:{port}/"))),
        "/worker.js" => Some(Page {
            headers: vec![("Content-Type".into(), "text/javascript".into())],
            ..Page::html(&format!(
                "for (const host of ['127.0.0.1', '127.0.0.4', 'private.test']) fetch(`http://${{host}}:{port}/`, {{ mode: 'no-cors' }}).catch(() => 0);"
            ))
        }),
        _ => None,
    };
    let server = Server::at("127.0.0.2", pages).await;
    world.open(&server.url("/worker.js").replace("127.0.0.2", "pages.test")).await;
    // A page of a loopback address may have a service worker, a name without TLS may not.
    world.navigate(&server.url("/")).await;
    world.wait_for_text("Tried all").await;
    let page = world.snapshot().await;
    assert!(page.contains("candidates: 0"), "addresses leaked by WebRTC: {page}");
    for host in HOSTS {
        let url = format!("http://{host}:{port}/");
        let outcome = world.perform(BrowserAction::Navigate(url.clone())).await;
        assert!(outcome.is_err(), "{url}: {outcome:?}");
    }
    for hop in ["/to-loopback", "/to-other", "/to-name"] {
        let outcome = world.perform(BrowserAction::Navigate(server.url(hop))).await;
        assert!(outcome.is_err(), "{hop}: {outcome:?}");
    }
    assert_eq!(trap.reached.load(Ordering::SeqCst), 0, "a page has reached a listener of the user");
    own_server_is_reached(&world).await;
}

/// The ordinary neighbour: a server that a command of the session runs.
async fn own_server_is_reached(world: &World) {
    let program = "perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 9, ReuseAddr => 1, LocalAddr => \"127.0.0.1:8000\") or die; \
                   while (my $c = $l->accept) { my $r = <$c>; print $c qq(HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nConnection: close\\r\\n\\r\\n<h1>Own server</h1>); close $c }'";
    let planned = world.processes.plan(&CommandRequest { command: program.to_owned(), ..CommandRequest::default() }).unwrap();
    let job = world.processes.start(&planned, JobOptions { session: "s".to_owned(), ..JobOptions::default() }).await.unwrap();
    let mut outcome = world.perform(BrowserAction::Navigate("http://127.0.0.1:8000/".into())).await;
    for _ in 0..100 {
        if outcome.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        outcome = world.perform(BrowserAction::Navigate("http://localhost:8000/".into())).await;
    }
    outcome.unwrap();
    assert_eq!(world.snapshot().await, "- heading \"Own server\" [level=1]");
    job.kill().await;
}
