//! Hands a request to the server of a tenant, and its answer back, as they are.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, Version, header};
use axum::response::Response;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use crate::error::ApiError;

/// Headers that are about one connection.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// One connection for one request: it ends with the answer, and an answer that nobody reads any more ends with it.
pub(super) async fn forward(stream: UnixStream, mut request: Request) -> Result<Response, ApiError> {
    let broken = |_| ApiError::new(StatusCode::BAD_GATEWAY, "unavailable", "Your server did not answer.").help("Try again.");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    tokio::spawn(connection);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().map_err(|_| ApiError::bad_request("The address of the request is none."))?;
    *request.version_mut() = Version::HTTP_11;
    strip(request.headers_mut());
    let mut response = sender.send_request(request).await.map_err(broken)?;
    strip(response.headers_mut());
    Ok(response.map(Body::new))
}

fn strip(headers: &mut HeaderMap) {
    for name in &OF_CONNECTION {
        headers.remove(name);
    }
}
