//! A DNS server on loopback, and a resolver that asks it: each question for a name gets its next answer, with a TTL of 0.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use haft::BoxFuture;
use haft::host::Resolve;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

const A: u16 = 1;
const AAAA: u16 = 28;

type Zone = HashMap<&'static str, Vec<Vec<IpAddr>>>;

/// The server; it ends with the test.
pub(crate) struct DnsServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl DnsServer {
    pub(crate) async fn start(names: &[(&'static str, &[&[&str]])]) -> Self {
        let parse = |answers: &[&[&str]]| answers.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        let zone: Zone = names.iter().map(|(name, answers)| (*name, parse(answers))).collect();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (socket.local_addr().unwrap(), Arc::default());
        let log = Arc::clone(&asked);
        Self { address, asked, task: tokio::spawn(serve(socket, zone, log)) }
    }
    pub(crate) fn resolver(&self) -> DnsResolver {
        DnsResolver(self.address)
    }
    /// The names that were looked up, each lookup once.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(socket: UdpSocket, zone: Zone, log: Arc<Mutex<Vec<String>>>) {
    let mut packet = [0; 512];
    while let Ok((length, from)) = socket.recv_from(&mut packet).await {
        let query = &packet[..length];
        let (name, kind) = question(query);
        let lookups = {
            let mut log = log.lock().unwrap();
            // A lookup asks for A first, then for AAAA.
            if kind == A {
                log.push(name.clone());
            }
            log.iter().filter(|asked| **asked == name).count()
        };
        let answers = zone.get(name.as_str()).map_or(&[][..], |answers| &answers[(lookups - 1).min(answers.len() - 1)]);
        socket.send_to(&response(query, kind, answers), from).await.ok();
    }
}

/// The name and type that a query asks for.
fn question(query: &[u8]) -> (String, u16) {
    let (mut labels, mut at) = (Vec::new(), 12);
    while query[at] != 0 {
        let length = usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..=at + length]).into_owned());
        at += length + 1;
    }
    (labels.join("."), u16::from_be_bytes([query[at + 1], query[at + 2]]))
}

fn response(query: &[u8], kind: u16, answers: &[IpAddr]) -> Vec<u8> {
    let wanted: Vec<Vec<u8>> = answers.iter().filter_map(|address| octets(*address, kind)).collect();
    let mut packet = query.to_vec();
    packet[2..4].copy_from_slice(&[0x81, 0x80]);
    packet[6..8].copy_from_slice(&u16::try_from(wanted.len()).unwrap().to_be_bytes());
    for octets in wanted {
        // The name of the question, the type, class IN, TTL 0.
        packet.extend([0xc0, 12, 0, u8::try_from(kind).unwrap(), 0, 1, 0, 0, 0, 0, 0, u8::try_from(octets.len()).unwrap()]);
        packet.extend(octets);
    }
    packet
}

fn octets(address: IpAddr, kind: u16) -> Option<Vec<u8>> {
    match address {
        IpAddr::V4(address) if kind == A => Some(address.octets().to_vec()),
        IpAddr::V6(address) if kind == AAAA => Some(address.octets().to_vec()),
        _ => None,
    }
}

/// Asks the server for both types.
pub(crate) struct DnsResolver(SocketAddr);

impl Resolve for DnsResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let mut found = self.ask(host, A).await?;
            found.extend(self.ask(host, AAAA).await?);
            Ok(found)
        })
    }
}

impl DnsResolver {
    async fn ask(&self, host: &str, kind: u16) -> io::Result<Vec<IpAddr>> {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let mut query = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in host.split('.') {
            query.push(u8::try_from(label.len()).unwrap());
            query.extend(label.as_bytes());
        }
        query.extend([0, 0, u8::try_from(kind).unwrap(), 0, 1]);
        socket.send_to(&query, self.0).await?;
        let mut packet = [0; 512];
        let length = socket.recv(&mut packet).await?;
        Ok(addresses(&packet[query.len()..length], kind))
    }
}

fn addresses(mut records: &[u8], kind: u16) -> Vec<IpAddr> {
    let size = if kind == A { 4 } else { 16 };
    let mut found = Vec::new();
    while records.len() >= 12 + size {
        let octets = &records[12..12 + size];
        found.push(match kind {
            A => IpAddr::from(<[u8; 4]>::try_from(octets).unwrap()),
            _ => IpAddr::from(<[u8; 16]>::try_from(octets).unwrap()),
        });
        records = &records[12 + size..];
    }
    found
}
