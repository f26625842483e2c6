//! A web service: `POST /ask` with a question streams the events of the turn, one JSON object a line. A client that goes away stops
//! its turn.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use futures_util::stream::unfold;
use haft::Agent;
use haft::providers::{self, Protocol};
use haft_testkit::{ModelServer, Round};

async fn ask(State(agent): State<Agent>, question: String) -> Body {
    Body::from_stream(unfold(agent.ask(question), |mut turn| async move {
        let event = turn.next().await?;
        let line = serde_json::to_string(&event).unwrap_or_default() + "\n";
        Some((Ok::<_, Infallible>(line), turn))
    }))
}

/// The service of an agent.
pub(crate) fn service(agent: Agent) -> Router {
    Router::new().route("/ask", post(ask)).with_state(agent)
}

/// What a client of the service receives.
pub(crate) async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let model = ModelServer::start(vec![Round::Text("Four.".into())])?;
    let agent = Agent::builder().provider(providers::at(Protocol::Anthropic, model.url(), "m1")).build().await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = tokio::spawn(async move { axum::serve(listener, service(agent)).await });
    let answer = tokio::task::spawn_blocking(move || client(&address.to_string())).await??;
    serving.abort();
    Ok(answer)
}

/// A client without a library.
fn client(address: &str) -> std::io::Result<String> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address)?;
    write!(stream, "POST /ask HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 10\r\n\r\nTwo + two?")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", run().await?);
    Ok(())
}
