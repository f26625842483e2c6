//! The MCP server, driven as clients drive it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod suite {
    mod asking;
    mod conformance;
    mod direct_calls;
    mod fixtures;
    mod http;
    mod lifecycle;
    mod oauth;
    mod stdio;
    mod wire_client;
}
