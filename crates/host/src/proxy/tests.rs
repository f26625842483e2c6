//! Real clients and servers, on a socket and on loopback.

use std::net::{IpAddr, Ipv4Addr};

use haft_contract::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::*;
use crate::http::NetworkRules;

/// Every name is this machine, but for one that has no address. Remembers the lookups.
#[derive(Default)]
struct Here(Mutex<Vec<String>>);

impl Resolve for Here {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.0.lock().unwrap().push(host.to_owned());
        let nowhere = host == "nowhere.example";
        Box::pin(async move { Ok(if nowhere { Vec::new() } else { vec![Ipv4Addr::LOCALHOST.into()] }) })
    }
}

/// Permits what is said to be good, once it may answer. Remembers what it was asked.
struct ScriptedGate {
    asked: Mutex<Vec<Connect>>,
    answers: Semaphore,
}

impl ScriptedGate {
    fn answering(answers: usize) -> Arc<Self> {
        Arc::new(Self { asked: Mutex::default(), answers: Semaphore::new(answers) })
    }
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|connect| format!("{} {}", connect.method, connect.host)).collect()
    }
}

impl EgressGate for ScriptedGate {
    fn permit<'a>(&'a self, connect: &'a Connect) -> BoxFuture<'a, Result<(), EgressRefusal>> {
        self.asked.lock().unwrap().push(connect.clone());
        Box::pin(async move {
            self.answers.acquire().await.unwrap().forget();
            let refusal = || EgressRefusal { reason: "the user said no".into(), rule: Some("connect(…)".into()) };
            if connect.host == "good.example" { Ok(()) } else { Err(refusal()) }
        })
    }
}

struct World {
    proxy: EgressProxy,
    lookups: Arc<Here>,
    port: u16,
    _server: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl World {
    /// A proxy for these hosts, `PORT` being the port of a server that answers every connection with what it heard first.
    async fn new(allowed: &[&str]) -> Self {
        Self::with_gate(allowed, None).await
    }
    async fn with_gate(allowed: &[&str], gate: Option<Arc<ScriptedGate>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut heard = vec![0; 4096];
                let count = stream.read(&mut heard).await.unwrap();
                stream.write_all(b"heard: ").await.unwrap();
                stream.write_all(&heard[..count]).await.unwrap();
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let rule = |text: &&str| text.replace("PORT", &port.to_string()).parse().unwrap();
        let open = [format!("good.example:{port}"), format!("127.0.0.1:{port}"), format!("nowhere.example:{port}")];
        let lookups = Arc::new(Here::default());
        let reach = ProxyReach {
            allowed: allowed.iter().map(rule).collect(),
            gate: gate.map(|gate| gate as _),
            guard: Arc::new(AddressGuard::new(NetworkRules::parse(&open, &[]).unwrap())),
            resolver: Arc::clone(&lookups) as _,
            upstream: None,
        };
        let proxy = EgressProxy::start(&folder.path().join("proxy"), reach).unwrap();
        Self { proxy, lookups, port, _server: server, _folder: folder }
    }

    /// What comes back for these bytes, until the proxy ends the connection.
    async fn says(&self, request: &[u8]) -> Vec<u8> {
        let mut client = UnixStream::connect(&self.proxy.socket).await.unwrap();
        client.write_all(request).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        answer
    }
    /// The decisions, as one line each.
    fn decisions(&self) -> Vec<String> {
        let line = |decision: NetworkDecision| {
            let reason = decision.refusal.map(|refusal| format!(": {}", refusal.reason)).unwrap_or_default();
            format!("{} {:?}{reason}", decision.host, decision.verdict)
        };
        self.proxy.decisions().into_iter().map(line).collect()
    }
    async fn says_text(&self, request: &str) -> String {
        String::from_utf8(self.says(request.replace("PORT", &self.port.to_string()).as_bytes()).await).unwrap()
    }
}

#[tokio::test]
async fn d15_a_tunnel_leads_to_what_was_permitted_and_nowhere_else() {
    let world = World::new(&["good.example:PORT", "nowhere.example:PORT", "other.example"]).await;
    let port = world.port;
    let text = world.says_text("CONNECT good.example:PORT HTTP/1.1\r\n\r\nhello").await;
    assert_eq!(text, "HTTP/1.1 200 Connection established\r\n\r\nheard: hello");
    for (authority, status, part) in [
        ("evil.example:PORT", "403 Forbidden", "and no other host"),
        ("good.example:22", "403 Forbidden", "and no other host"),
        ("127.0.0.1:PORT", "403 Forbidden", "and no other host"),
        ("other.example:443", "403 Forbidden", "tools reach public addresses only"),
        ("sandbox.localhost:PORT", "403 Forbidden", "its servers are at 127.0.0.1"),
        ("nowhere.example:PORT", "502 Bad Gateway", "the name has no addresses"),
        ("good.example", "400 Bad Request", "CONNECT needs host:port"),
    ] {
        let text = world.says_text(&format!("CONNECT {authority} HTTP/1.1\r\n\r\nhello")).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")) && text.contains(part), "{authority}: {text}");
        assert!(!text.contains("heard"), "{authority}: {text}");
    }
    let decisions = world.decisions();
    assert_eq!(decisions[0], "good.example Connected");
    assert!(decisions[1].starts_with(&format!("evil.example Blocked: this command may reach good.example:{port}, ")), "{decisions:?}");
    assert_eq!((decisions.len(), decisions[6].as_str()), (7, "nowhere.example Unreachable"));
}

#[tokio::test]
async fn a_plain_request_reaches_its_host_once() {
    let world = World::new(&["good.example:PORT"]).await;
    let (first, second) =
        ("GET http://good.example:PORT/x HTTP/1.1\r\nHost: evil.example\r\n\r\n", "GET http://evil.example/ HTTP/1.1\r\n\r\n");
    let port = world.port;
    let expected = format!("heard: GET /x HTTP/1.1\r\nHost: good.example:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(world.says_text(&format!("{first}{second}")).await, expected);
    let refused = world.says_text(second).await;
    assert!(refused.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{refused}");
}

#[tokio::test]
async fn d08_socks_takes_names_whole_and_connects_alone() {
    let world = World::new(&["good.example:PORT"]).await;
    let port = world.port.to_be_bytes();
    let request = |command: u8, name: &[u8]| {
        let mut bytes = vec![5, 1, 0, 5, command, 0, 3, u8::try_from(name.len()).unwrap()];
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&port);
        bytes.extend_from_slice(b"hello");
        bytes
    };
    let mut expected = vec![5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    expected.extend_from_slice(b"heard: hello");
    assert_eq!(world.says(&request(1, b"good.example")).await, expected);
    for (command, name, answer) in [
        (1, &b"evil.example"[..], 2),
        (1, b"evil.example\0good.example", 2),
        (1, b"good.example\0.evil.example", 2),
        (1, b"\xff", 2),
        (1, b"", 2),
        (2, b"good.example", 7),
        (3, b"good.example", 7),
    ] {
        assert_eq!(world.says(&request(command, name)).await, [5, 0, 5, answer, 0, 1, 0, 0, 0, 0, 0, 0], "{command} {name:?}");
    }
    assert_eq!(world.says(&[5, 1, 2]).await, [5, 0xff], "authentication is not offered");
}

#[tokio::test]
async fn d15_a_handshake_for_another_host_does_not_pass_whichever_way_it_comes() {
    let world = World::new(&["good.example:PORT"]).await;
    let connect = format!("CONNECT good.example:{} HTTP/1.1\r\n\r\n", world.port).into_bytes();
    let mut socks = vec![5, 1, 0, 5, 1, 0, 3, 12];
    socks.extend_from_slice(b"good.example");
    socks.extend_from_slice(&world.port.to_be_bytes());
    for way in [connect, socks] {
        let answer = world.says(&[&way[..], &hello::asking_for(&["good.example"])].concat()).await;
        assert!(answer.windows(7).any(|window| window == b"heard: "), "{answer:?}");
        let answer = world.says(&[&way[..], &hello::asking_for(&["evil.example"])].concat()).await;
        assert!(!answer.windows(7).any(|window| window == b"heard: "), "{answer:?}");
    }
    assert_eq!(world.decisions(), ["good.example Connected", "good.example Blocked: its handshake asks for 'evil.example'"]);
}

#[tokio::test]
async fn d15_plain_http_in_a_tunnel_asks_for_the_permitted_host() {
    let world = World::new(&["good.example:PORT"]).await;
    let port = world.port;
    let through = |request: &str| format!("CONNECT good.example:PORT HTTP/1.1\r\n\r\n{request}");
    let good = format!("GET / HTTP/1.1\r\nHost: good.example:{port}\r\n\r\n");
    let answer = world.says_text(&through(&good)).await;
    assert!(answer.contains("heard: GET / HTTP/1.1"), "{answer}");
    let answer = world.says_text(&through("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")).await;
    assert!(!answer.contains("evil.example"), "{answer}");
    assert_eq!(world.decisions(), ["good.example Connected", "good.example Blocked: its request asks for 'evil.example'"]);
}

#[tokio::test]
async fn host_without_a_rule_waits_for_the_gate() {
    let gate = ScriptedGate::answering(0);
    let world = World::with_gate(&[], Some(Arc::clone(&gate))).await;
    let request = format!("CONNECT good.example:{} HTTP/1.1\r\n\r\nhello", world.port);
    let mut waiting = std::pin::pin!(world.says(request.as_bytes()));
    tokio::select! {
        answer = &mut waiting => panic!("not before the gate has answered: {answer:?}"),
        () = async { while gate.asked().is_empty() { tokio::task::yield_now().await } } => {}
    }
    assert_eq!(*world.lookups.0.lock().unwrap(), Vec::<String>::new(), "a lookup would already tell someone");
    gate.answers.add_permits(1);
    assert!(waiting.await.ends_with(b"heard: hello"));
    assert_eq!((gate.asked(), world.decisions()), (vec!["CONNECT good.example".to_owned()], vec!["good.example Connected".to_owned()]));
}

#[tokio::test]
async fn gate_refuses_every_protocol_and_is_asked_about_nothing_that_is_decided_anyway() {
    let gate = ScriptedGate::answering(100);
    let world = World::with_gate(&["127.0.0.1:PORT"], Some(Arc::clone(&gate))).await;
    let port = world.port.to_be_bytes();
    let refused = world.says_text("CONNECT evil.example:PORT HTTP/1.1\r\n\r\nhello").await;
    assert!(refused.starts_with("HTTP/1.1 403 Forbidden\r\n") && refused.ends_with("the user said no\n"), "{refused}");
    assert!(world.says_text("GET http://evil.example:PORT/ HTTP/1.1\r\n\r\n").await.contains("403 Forbidden"));
    let socks = [&[5, 1, 0, 5, 1, 0, 3, 12][..], b"evil.example", &port].concat();
    assert_eq!(world.says(&socks).await, [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
    let asked = gate.asked().len();
    assert!(world.says_text("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\nhello").await.ends_with("heard: hello"), "it was planned");
    for guarded in ["169.254.169.254:80", "10.0.0.1:80", "localhost:80", "metadata.google.internal:80"] {
        let refused = world.says_text(&format!("CONNECT {guarded} HTTP/1.1\r\n\r\n")).await;
        assert!(refused.contains("Address not allowed"), "{refused}");
    }
    assert_eq!(gate.asked().len(), asked, "nobody is asked about these");
    assert!(world.says_text("CONNECT good.example:PORT HTTP/1.1\r\n\r\nhello").await.ends_with("heard: hello"), "its neighbour");
    let blocked = world.proxy.decisions().remove(0);
    let refusal = EgressRefusal { reason: "the user said no".into(), rule: Some("connect(…)".into()) };
    assert_eq!((blocked.host.as_str(), blocked.verdict, blocked.refusal), ("evil.example", NetworkVerdict::Blocked, Some(refusal)));
}
