//! The web.

mod response;

tools! {
    http_request => HttpRequest,
}
