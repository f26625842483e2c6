//! A server of pages for one test.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: String,
}

/// What the server answers.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Zero bytes that follow the body, until the client has enough.
    pub(crate) endless: bool,
}

impl Page {
    pub(crate) fn html(body: &str) -> Self {
        Self { status: 200, headers: vec![("Content-Type".into(), "text/html; charset=utf-8".into())], body: body.into(), endless: false }
    }
    pub(crate) fn redirect(to: &str) -> Self {
        Self { status: 302, headers: vec![("Location".into(), to.into())], body: Vec::new(), endless: false }
    }
    pub(crate) fn file(name: &str, body: &str) -> Self {
        let headers = vec![
            ("Content-Type".into(), "application/octet-stream".into()),
            ("Content-Disposition".into(), format!("attachment; filename=\"{name}\"")),
        ];
        Self { status: 200, headers, body: body.into(), endless: false }
    }
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

type Handler = dyn Fn(&Arrived) -> Option<Page> + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: String,
    task: JoinHandle<()>,
}

impl Server {
    /// Pages by their paths.
    pub(crate) async fn of(pages: &[(&str, Page)]) -> Self {
        let pages: HashMap<String, Page> = pages.iter().map(|(path, page)| ((*path).to_owned(), page.clone())).collect();
        Self::at("127.0.0.2", move |request| pages.get(request.path.split('?').next().unwrap_or_default()).cloned()).await
    }

    pub(crate) async fn at(host: &str, handler: impl Fn(&Arrived) -> Option<Page> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let handler: Arc<Handler> = Arc::new(handler);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, Arc::clone(&handler)));
            }
        });
        Self { address: format!("http://{host}:{port}"), task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(client: TcpStream, handler: Arc<Handler>) {
    let mut client = BufReader::new(client);
    while let Some((request, is_last)) = read_request(&mut client).await {
        let missing = Page { status: 404, headers: Vec::new(), body: b"nothing here".to_vec(), endless: false };
        let page = handler(&request).unwrap_or(missing);
        let mut head = format!("HTTP/1.1 {} OK\r\n{}", page.status, if is_last { "Connection: close\r\n" } else { "" });
        for (name, value) in &page.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if page.endless {
            head += "Content-Length: 10737418240\r\n\r\n";
        } else {
            write!(head, "Content-Length: {}\r\n\r\n", page.body.len()).unwrap();
        }
        if client.write_all(head.as_bytes()).await.is_err() || client.write_all(&page.body).await.is_err() {
            return;
        }
        if page.endless {
            let zeros = vec![0; 1 << 16];
            while client.write_all(&zeros).await.is_ok() {}
            return;
        }
        client.flush().await.ok();
        if is_last {
            return;
        }
    }
}

/// A request, and whether the client wants no other after it.
async fn read_request(client: &mut BufReader<TcpStream>) -> Option<(Arrived, bool)> {
    let mut line = String::new();
    client.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut is_last) = (0, false);
    loop {
        let mut header = String::new();
        client.read_line(&mut header).await.ok().filter(|count| *count > 0)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        is_last |= header == "connection: close";
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    client.read_exact(&mut body).await.ok()?;
    let path =
        target.find("://").and_then(|at| target[at + 3..].find('/').map(|slash| target[at + 3 + slash..].to_owned())).unwrap_or(target);
    Some((Arrived { method, path, body: String::from_utf8_lossy(&body).into_owned() }, is_last))
}
