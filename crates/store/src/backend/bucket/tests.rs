//! A server of the wire format on loopback: it checks every signature from what it was sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ring::digest::{SHA256, digest};

use super::signature::{SignedRequest, Signer, encoded, hex};
use super::*;

const ACCESS: &str = "AKTEST";
const SECRET: &str = "very+secret/key";
/// Small, so that lists have several pages.
const PAGE_SIZE: usize = 2;

type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

fn serve() -> (String, Objects) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let objects: Objects = Arc::default();
    let stored = Arc::clone(&objects);
    // It ends with the process of the test.
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            answer(&connection.unwrap(), &stored);
        }
    });
    (address, objects)
}

fn answer(connection: &TcpStream, objects: &Objects) {
    let mut reader = BufReader::new(connection);
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let (method, target) = {
        let mut words = first.split(' ');
        (words.next().unwrap().to_owned(), words.next().unwrap().to_owned())
    };
    let (status, content) = if is_signed(&method, &target, &headers, &body) {
        act(&method, &target, body, &mut objects.lock().unwrap())
    } else {
        (403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>".to_vec())
    };
    let mut connection = connection;
    write!(connection, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", content.len()).unwrap();
    connection.write_all(&content).unwrap();
}

fn is_signed(method: &str, target: &str, headers: &BTreeMap<String, String>, body: &[u8]) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let decode = |text: &str| percent_decoded(text);
    let query: Vec<(String, String)> =
        query.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, value)| (decode(name), decode(value))).collect();
    let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let signed: Vec<(&str, &str)> =
        ["host", "x-amz-content-sha256", "x-amz-date"].iter().map(|name| (*name, headers[*name].as_str())).collect();
    let body_hash = hex(digest(&SHA256, body).as_ref());
    let key = Signer { access_key: ACCESS.into(), secret_key: SECRET.into(), region: "here-1".into() };
    let request = SignedRequest { method, path, query: &query, headers: &signed, body_hash: &body_hash };
    headers["x-amz-content-sha256"] == body_hash && headers["authorization"] == key.authorization(&request, &headers["x-amz-date"])
}

fn percent_decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn act(method: &str, target: &str, body: Vec<u8>, objects: &mut BTreeMap<String, Vec<u8>>) -> (u16, Vec<u8>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = percent_decoded(path);
    let key = path.strip_prefix("/box/").unwrap_or_default().to_owned();
    match method {
        "PUT" => {
            objects.insert(key, body);
            (200, Vec::new())
        }
        "DELETE" => (if objects.remove(&key).is_some() { 204 } else { 404 }, Vec::new()),
        "GET" if query.is_empty() => objects.get(&key).map_or((404, b"<Code>NoSuchKey</Code>".to_vec()), |found| (200, found.clone())),
        _ => (200, listing(query, objects).into_bytes()),
    }
}

fn listing(query: &str, objects: &BTreeMap<String, Vec<u8>>) -> String {
    use std::fmt::Write;

    let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).map(percent_decoded);
    let (prefix, after) = (value("prefix").unwrap_or_default(), value("continuation-token").unwrap_or_default());
    let mut found = objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > after);
    let page: Vec<_> = found.by_ref().take(PAGE_SIZE).collect();
    let mut entries = String::new();
    for (key, content) in &page {
        let (key, size) = (key.replace('&', "&amp;"), content.len());
        let written = "<LastModified>2026-05-31T10:20:30.000Z</LastModified>";
        write!(entries, "<Contents><Key>{key}</Key>{written}<Size>{size}</Size></Contents>").unwrap();
    }
    let next = found.next().and(page.last()).map(|(key, _)| format!("<NextContinuationToken>{key}</NextContinuationToken>"));
    format!("<ListBucketResult>{entries}{}</ListBucketResult>", next.unwrap_or_default())
}

fn objects(endpoint: &str, secret: &str) -> BucketObjects {
    // Only once a process; the second is refused, and does not matter.
    rustls::crypto::ring::default_provider().install_default().ok();
    BucketObjects::new(BucketSettings {
        endpoint: endpoint.to_owned(),
        bucket: "box".into(),
        prefix: "haft/".into(),
        region: "here-1".into(),
        access_key: ACCESS.into(),
        secret_key: secret.into(),
    })
    .unwrap()
}

#[tokio::test]
async fn objects_come_back_are_listed_in_pages_and_go() {
    let (endpoint, stored) = serve();
    let bucket = objects(&endpoint, SECRET);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("content");
    let keys = ["pre-images/1", "spills/s 1/a&b+ü.txt", "spills/s 1/c.txt", "spills/s2/d.txt"];
    for (length, key) in [0_usize, 5, 100_000, 1].iter().zip(keys) {
        std::fs::write(&file, vec![7; *length]).unwrap();
        bucket.put(key, &file).await.unwrap();
        let mut back = std::fs::File::create(folder.path().join("back")).unwrap();
        assert!(bucket.get(key, &mut back).await.unwrap());
        assert_eq!(std::fs::read(folder.path().join("back")).unwrap(), vec![7; *length], "{key}");
    }
    assert_eq!(stored.lock().unwrap().keys().next().map(String::as_str), Some("haft/pre-images/1"));
    let listed = bucket.list("spills/", 10).await.unwrap();
    assert_eq!(
        listed.iter().map(|object| (object.key.as_str(), object.bytes)).collect::<Vec<_>>(),
        [(keys[1], 5), (keys[2], 100_000), (keys[3], 1)]
    );
    assert_eq!(bucket.list("spills/", 1).await.unwrap().len(), 1);
    bucket.remove(keys.map(str::to_owned).to_vec()).await.unwrap();
    bucket.remove(vec![keys[0].to_owned()]).await.unwrap();
    assert_eq!(bucket.list("", 10).await.unwrap(), []);
    let mut back = std::fs::File::create(folder.path().join("back")).unwrap();
    assert!(!bucket.get(keys[0], &mut back).await.unwrap());
    assert_eq!(encoded("a b/ü", true), "a%20b/%C3%BC");
}

#[tokio::test]
async fn wrong_key_is_refused_with_its_code_and_without_the_secret() {
    let (endpoint, _) = serve();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("content");
    std::fs::write(&file, "x").unwrap();
    let bucket = objects(&endpoint, "not+this/one");
    let error = bucket.put("a", &file).await.unwrap_err().to_string();
    assert!(error.contains("403") && error.contains("SignatureDoesNotMatch") && error.contains("check HAFT_BLOBS"), "{error}");
    assert!(!format!("{error}{bucket:?}").contains("not+this"), "{error}");
}
