//! Bytes in both directions, once the client's first words were checked.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;

use super::plain::{self, Broken};
use super::{GREETING_TIME, ProxyTarget, Shared, hello};

/// An answer that says that the server speaks another protocol from now on.
const SWITCHING: [&[u8]; 2] = [b"HTTP/1.1 101", b"HTTP/1.0 101"];

/// Passes on what both say. A server may speak first, so the client is checked when it speaks.
pub(super) async fn run(mut client: UnixStream, mut server: TcpStream, target: &ProxyTarget, shared: &Shared) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let (switch, switched) = oneshot::channel();
    let up = async {
        let passed = client_words(&mut from_client, &mut to_server, target, switched).await;
        if let Err(Broken::Refused(reason)) = &passed {
            shared.block(target, reason);
        }
        passed.map_err(|broken| match broken {
            Broken::Io(error) => error,
            Broken::Refused(reason) => io::Error::other(reason),
        })?;
        to_server.shutdown().await
    };
    let down = async {
        let start = first_answer(&mut from_server, &mut to_client).await?;
        // The client may not wait for it.
        switch.send(SWITCHING.iter().any(|switching| start.starts_with(switching))).ok();
        tokio::io::copy(&mut from_server, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::try_join!(up, down).map(drop)
}

/// TLS passes as it is once its beginning names the host; of anything else, HTTP is checked.
async fn client_words<R, W>(from: &mut R, to: &mut W, target: &ProxyTarget, switched: oneshot::Receiver<bool>) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let first = first_words(from).await?;
    // A client that says nothing at all asks for nothing.
    if first.is_empty() {
        return Ok(());
    }
    hello::check(target, &first).map_err(Broken::Refused)?;
    if hello::begins(&first) {
        to.write_all(&first).await?;
        tokio::io::copy(from, to).await?;
        return Ok(());
    }
    plain::pass(&mut BufReader::new((&first[..]).chain(from)), to, target, switched).await
}

/// What the client says first: as much as it says at once, and where that begins TLS the whole first record.
async fn first_words(client: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut words = vec![0; hello::LONGEST];
    let mut count = client.read(&mut words).await?;
    let rest = async {
        while hello::begins(&words[..count]) && count < required_length(&words[..count]) {
            match client.read(&mut words[count..]).await? {
                0 => break,
                more => count += more,
            }
        }
        io::Result::Ok(())
    };
    tokio::time::timeout(GREETING_TIME, rest).await.map_err(io::Error::other)??;
    words.truncate(count);
    Ok(words)
}

/// How much must be there to check it.
fn required_length(words: &[u8]) -> usize {
    if words.len() < hello::HEAD { hello::HEAD } else { hello::record(words).unwrap_or(0).min(hello::LONGEST) }
}

/// Passes on the beginning of what the server says, and gives as much of it as a status takes.
async fn first_answer(server: &mut (impl AsyncRead + Unpin), client: &mut (impl AsyncWrite + Unpin)) -> io::Result<Vec<u8>> {
    let (mut start, mut piece) = (Vec::new(), [0; 4096]);
    while start.len() < SWITCHING[0].len() {
        let count = server.read(&mut piece).await?;
        if count == 0 {
            break;
        }
        client.write_all(&piece[..count]).await?;
        start.extend_from_slice(&piece[..count]);
    }
    Ok(start)
}
