//! What a client asks.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::net::TcpStream;

use serde_json::Value;

/// One request that came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path, with the query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl Asked {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The method, and the rest.
pub(super) fn read(connection: &TcpStream) -> Result<(String, Asked)> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Err(Error::from(ErrorKind::UnexpectedEof)) };
    let mut asked = Asked { path, headers: headers(&mut reader)?, body: Value::Null };
    let length = asked.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok((method, asked))
}

fn headers(reader: &mut impl BufRead) -> Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Ok(headers) };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
}
