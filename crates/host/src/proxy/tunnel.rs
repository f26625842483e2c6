//! Bytes in both directions, once the client's first words were checked.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::{GREETING_TIME, Shared, Target, hello};

/// Passes on what both say. A server may speak first, so the client is checked when it speaks.
pub(super) async fn run(mut client: UnixStream, mut server: TcpStream, target: &Target, shared: &Shared) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let first = first_words(&mut from_client).await?;
        // A client that says nothing at all asks for nothing.
        if !first.is_empty()
            && let Err(reason) = hello::check(target, &first)
        {
            shared.remember(&format!("{target}: refused: {reason}"));
            return Err(io::Error::other(reason));
        }
        to_server.write_all(&first).await?;
        tokio::io::copy(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let down = async {
        tokio::io::copy(&mut from_server, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::try_join!(up, down).map(drop)
}

/// What the client says first: as much as it says at once, and where that begins TLS the whole first record.
async fn first_words(client: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut words = vec![0; hello::LONGEST];
    let mut count = client.read(&mut words).await?;
    let rest = async {
        while count > 0 && words[0] == 22 && count < wanted(&words[..count]) {
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
fn wanted(words: &[u8]) -> usize {
    if words.len() < hello::HEAD { hello::HEAD } else { hello::record(words).unwrap_or(0).min(hello::LONGEST) }
}
