//! Blobs in an S3-compatible bucket: path-style requests, each signed.

mod signature;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use ring::digest::{SHA256, digest};

pub(in crate::backend) use self::signature::hex;
use self::signature::{SignedRequest, Signer, encoded, encoded_query, parsed_time, signed_time};
use crate::{BlobObject, BlobObjects, StoreError};

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// The hash of an empty body.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// The most that is read of a list or of an error.
const LONGEST_ANSWER: usize = 4 << 20;
/// How many keys one list has; the rest is asked for again.
const PAGE: &str = "1000";

/// Where a bucket is, and who uses it.
#[derive(Clone)]
pub struct BucketSettings {
    /// The server, such as `https://s3.eu-central-1.amazonaws.com`.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// What the keys begin with; empty, or with a slash at its end.
    pub prefix: String,
    /// The region that requests are signed for.
    pub region: String,
    /// The id of the key.
    pub access_key: String,
    /// The key.
    pub secret_key: String,
}

haft_contract::opaque_debug!(BucketSettings: endpoint = endpoint, bucket = bucket);

/// [`BlobObjects`] in a bucket.
pub struct BucketObjects {
    settings: BucketSettings,
    signer: Signer,
    client: reqwest::Client,
    host: String,
}

haft_contract::opaque_debug!(BucketObjects: settings = settings);

impl BucketObjects {
    /// Of a bucket, which must be there.
    pub fn new(settings: BucketSettings) -> Result<Self, StoreError> {
        let failed = |error: String| StoreError::Closed(format!("the bucket {} cannot be used: {error}", settings.bucket));
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(SILENCE)
            .read_timeout(SILENCE)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let endpoint = reqwest::Url::parse(&settings.endpoint).map_err(|error| failed(error.to_string()))?;
        let name = endpoint.host_str().ok_or_else(|| failed("its address names no host".into()))?;
        let host = endpoint.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        let signer =
            Signer { access_key: settings.access_key.clone(), secret_key: settings.secret_key.clone(), region: settings.region.clone() };
        Ok(Self { settings, signer, client, host })
    }

    async fn send(
        &self,
        method: reqwest::Method,
        key: Option<&str>,
        query: &[(&str, &str)],
        (body_hash, body): (&str, Option<reqwest::Body>),
    ) -> Result<reqwest::Response, StoreError> {
        let key = key.map(|key| format!("/{}{}", self.settings.prefix, key)).unwrap_or_default();
        let path = encoded(&format!("/{}{key}", self.settings.bucket), true);
        let time = signed_time(SystemTime::now());
        let headers = [("host", self.host.as_str()), ("x-amz-content-sha256", body_hash), ("x-amz-date", &time)];
        let request = SignedRequest { method: method.as_str(), path: &path, query, headers: &headers, body_hash };
        let authorization = self.signer.authorization(&request, &time);
        let question = if query.is_empty() { String::new() } else { format!("?{}", encoded_query(query)) };
        let mut request = self
            .client
            .request(method, format!("{}{path}{question}", self.settings.endpoint.trim_end_matches('/')))
            .header("x-amz-content-sha256", body_hash)
            .header("x-amz-date", &time)
            .header("authorization", authorization);
        if let Some(body) = body {
            request = request.body(body);
        }
        request.send().await.map_err(|error| self.failed(&error.without_url().to_string()))
    }

    fn failed(&self, said: &str) -> StoreError {
        let BucketSettings { endpoint, bucket, .. } = &self.settings;
        StoreError::Closed(format!("the bucket {bucket} at {endpoint} said no ({said}): check HAFT_BLOBS and the key of the bucket"))
    }

    async fn refused(&self, answer: reqwest::Response) -> StoreError {
        let status = answer.status();
        let text = text_of(answer).await.unwrap_or_default();
        let code = between(&text, "<Code>", "</Code>").next().unwrap_or_default();
        self.failed(format!("{status} {code}").trim())
    }

    async fn page(&self, prefix: &str, after: Option<&str>) -> Result<String, StoreError> {
        let prefix = format!("{}{prefix}", self.settings.prefix);
        let mut query = vec![("list-type", "2"), ("max-keys", PAGE), ("prefix", &prefix)];
        if let Some(after) = after {
            query.insert(0, ("continuation-token", after));
        }
        let answer = self.send(reqwest::Method::GET, None, &query, (EMPTY, None)).await?;
        if !answer.status().is_success() {
            return Err(self.refused(answer).await);
        }
        text_of(answer).await.map_err(|error| self.failed(&error))
    }
}

async fn text_of(mut answer: reqwest::Response) -> Result<String, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
        if bytes.len() + piece.len() > LONGEST_ANSWER {
            return Err("its answer is too long".to_owned());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |rest| rest.split_once(end).map(|(inner, _)| inner))
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}

impl BlobObjects for BucketObjects {
    fn put<'a>(&'a self, key: &'a str, content: &'a Path) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            // In one piece, as the plain form of an upload wants it: its size and hash come before it.
            let body = std::fs::read(content).map_err(|error| StoreError::io(content, error))?;
            let hash = hex(digest(&SHA256, &body).as_ref());
            let answer = self.send(reqwest::Method::PUT, Some(key), &[], (&hash, Some(body.into()))).await?;
            if answer.status().is_success() { Ok(()) } else { Err(self.refused(answer).await) }
        })
    }

    fn get<'a>(&'a self, key: &'a str, file: &'a mut std::fs::File) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let mut answer = self.send(reqwest::Method::GET, Some(key), &[], (EMPTY, None)).await?;
            if answer.status() == reqwest::StatusCode::NOT_FOUND {
                return Ok(false);
            }
            if !answer.status().is_success() {
                return Err(self.refused(answer).await);
            }
            while let Some(piece) = answer.chunk().await.map_err(|error| self.failed(&error.without_url().to_string()))? {
                file.write_all(&piece).map_err(|error| StoreError::io(Path::new(key), error))?;
            }
            Ok(true)
        })
    }

    fn remove(&self, keys: Vec<String>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            for key in keys {
                let answer = self.send(reqwest::Method::DELETE, Some(&key), &[], (EMPTY, None)).await?;
                if !answer.status().is_success() && answer.status() != reqwest::StatusCode::NOT_FOUND {
                    return Err(self.refused(answer).await);
                }
            }
            Ok(())
        })
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<BlobObject>, StoreError>> {
        Box::pin(async move {
            let (mut objects, mut after) = (Vec::new(), None::<String>);
            loop {
                let page = self.page(prefix, after.as_deref()).await?;
                for entry in between(&page, "<Contents>", "</Contents>") {
                    let of = |begin, end| between(entry, begin, end).next().unwrap_or_default();
                    let key = plain(of("<Key>", "</Key>"));
                    let Some(key) = key.strip_prefix(&self.settings.prefix) else { continue };
                    let seconds = parsed_time(of("<LastModified>", "</LastModified>")).unwrap_or_default();
                    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
                    let bytes = of("<Size>", "</Size>").parse().unwrap_or_default();
                    objects.push(BlobObject { key: key.to_owned(), written, bytes });
                }
                after = between(&page, "<NextContinuationToken>", "</NextContinuationToken>").next().map(plain);
                if after.is_none() || objects.len() >= limit {
                    objects.truncate(limit);
                    return Ok(objects);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
