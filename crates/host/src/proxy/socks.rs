//! SOCKS5 (RFC 1928), as far as programs use it: no authentication, `CONNECT` alone.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::{GREETING_TIME, ProxyTarget, Refused, Shared, part, tunnel};

pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NOTHING_ACCEPTABLE: u8 = 0xff;
const CONNECT: u8 = 1;

/// The answers that we give.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Succeeded = 0,
    NotAllowed = 2,
    Unreachable = 5,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

/// Serves a client whose first byte was the version.
pub(super) async fn attend(mut client: UnixStream, shared: &Shared) -> io::Result<()> {
    let wanted = tokio::time::timeout(GREETING_TIME, read_target(&mut client)).await.map_err(io::Error::other)??;
    let target = match wanted {
        Ok(target) => target,
        Err(answer) => return refuse(client, answer).await,
    };
    match shared.connect(&target).await {
        Ok(server) => {
            reply(&mut client, Answer::Succeeded).await?;
            tunnel::run(client, server, &target, shared).await
        }
        Err(Refused::Denied(_)) => refuse(client, Answer::NotAllowed).await,
        Err(Refused::Unreachable(_)) => refuse(client, Answer::Unreachable).await,
    }
}

async fn refuse(mut client: UnixStream, answer: Answer) -> io::Result<()> {
    reply(&mut client, answer).await?;
    part(client).await
}

async fn read_target(client: &mut UnixStream) -> io::Result<Result<ProxyTarget, Answer>> {
    let mut methods = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut methods).await?;
    let accepted = methods.contains(&NO_AUTHENTICATION);
    client.write_all(&[VERSION, if accepted { NO_AUTHENTICATION } else { NOTHING_ACCEPTABLE }]).await?;
    if !accepted {
        return Err(io::Error::other("the client wants to authenticate"));
    }
    let mut request = [0; 4];
    client.read_exact(&mut request).await?;
    if request[0] != VERSION {
        return Err(io::Error::other("not SOCKS5"));
    }
    let host = match request[3] {
        1 => Ipv4Addr::from(client.read_u32().await?).to_string(),
        4 => Ipv6Addr::from(client.read_u128().await?).to_string(),
        3 => {
            let mut name = vec![0; usize::from(client.read_u8().await?)];
            client.read_exact(&mut name).await?;
            // A name with other bytes is none: it is refused below, whole.
            String::from_utf8(name).unwrap_or_default()
        }
        _ => return Ok(Err(Answer::AddressNotSupported)),
    };
    let port = client.read_u16().await?;
    if request[1] != CONNECT {
        return Ok(Err(Answer::CommandNotSupported));
    }
    Ok(ProxyTarget::new(&host, port).ok_or(Answer::NotAllowed))
}

async fn reply(client: &mut UnixStream, answer: Answer) -> io::Result<()> {
    client.write_all(&[VERSION, answer as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}
