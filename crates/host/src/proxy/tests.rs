//! Real clients and servers, on a socket and on loopback.

use std::net::{IpAddr, Ipv4Addr};

use haft_contract::BoxFuture;
use tokio::net::TcpListener;

use super::*;
use crate::http::NetworkRules;

/// Every name is this machine, but for one that has no address.
struct Here;

impl Resolve for Here {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let nowhere = host == "nowhere.example";
        Box::pin(async move { Ok(if nowhere { Vec::new() } else { vec![Ipv4Addr::LOCALHOST.into()] }) })
    }
}

struct World {
    proxy: EgressProxy,
    port: u16,
    _server: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl World {
    /// A proxy for these hosts, `PORT` being the port of a server that answers every connection with what it heard first.
    async fn new(allowed: &[&str]) -> Self {
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
        let reach = Reach {
            allowed: allowed.iter().map(rule).collect(),
            guard: Arc::new(Guard::new(NetworkRules::parse(&open, &[]).unwrap())),
            resolver: Arc::new(Here),
        };
        let proxy = EgressProxy::start(&folder.path().join("proxy"), reach).unwrap();
        Self { proxy, port, _server: server, _folder: folder }
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
        ("evil.example:PORT", "403 Forbidden", "is not among them"),
        ("good.example:22", "403 Forbidden", "good.example:22 is not among them"),
        ("127.0.0.1:PORT", "403 Forbidden", "is not among them"),
        ("other.example:443", "403 Forbidden", "tools reach public addresses only"),
        ("nowhere.example:PORT", "403 Forbidden", "the name has no addresses"),
        ("good.example", "400 Bad Request", "CONNECT needs host:port"),
    ] {
        let text = world.says_text(&format!("CONNECT {authority} HTTP/1.1\r\n\r\nhello")).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")) && text.contains(part), "{authority}: {text}");
        assert!(!text.contains("heard"), "{authority}: {text}");
    }
    let decisions = world.proxy.decisions();
    assert_eq!(decisions[0], format!("good.example:{port}: connected"));
    assert!(
        decisions[1].starts_with(&format!("evil.example:{port}: refused: this command may reach good.example:{port}, ")),
        "{decisions:?}"
    );
    assert_eq!(decisions.len(), 6);
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
    let refused = format!("good.example:{}: refused: its handshake asks for 'evil.example'", world.port);
    assert!(world.proxy.decisions().contains(&refused), "{:?}", world.proxy.decisions());
}
