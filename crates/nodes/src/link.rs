//! A connection between a gateway and a node: frames, sealed, over a WebSocket.

use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use haft_websocket::{MAX_MESSAGE, WsMessage, WsReader, WsRole, WsWriter};
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::cipher::{Decryptor, Encryptor, OVERHEAD};
use crate::frame::Frame;

/// How long the other end may take to accept one message.
const WRITE: Duration = Duration::from_secs(30);
/// A connection over which nothing comes for this long is lost: the gateway asks every [`PING`].
pub(crate) const SILENCE: Duration = Duration::from_secs(50);
/// How often the gateway asks whether the node is there.
pub(crate) const PING: Duration = Duration::from_secs(15);
/// What of a result goes into one message.
pub(crate) const CHUNK: usize = 256 << 10;

/// Anything that a WebSocket can run over.
pub trait LinkStream: AsyncRead + AsyncWrite + std::fmt::Debug + Unpin + Send + 'static {}
impl<T: AsyncRead + AsyncWrite + std::fmt::Debug + Unpin + Send + 'static> LinkStream for T {}

/// A boxed stream: TCP, TLS, or an upgraded request.
pub type BoxStream = Box<dyn LinkStream>;

/// Both halves of a WebSocket that is not sealed yet.
#[derive(Debug)]
pub(crate) struct OpenSocket {
    pub(crate) reader: WsReader<ReadHalf<BoxStream>>,
    pub(crate) writer: WsWriter<WriteHalf<BoxStream>>,
}

impl OpenSocket {
    pub(crate) fn new(stream: BoxStream, role: WsRole) -> Self {
        let (read, write) = tokio::io::split(stream);
        Self { reader: WsReader::new(read, role), writer: WsWriter::new(write, role) }
    }

    /// The next message of the handshake, which has no pings.
    pub(crate) async fn message(&mut self) -> io::Result<Vec<u8>> {
        match self.reader.next().await? {
            WsMessage::Binary(message) => Ok(message),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Reads frames.
#[derive(Debug)]
pub(crate) struct LinkReader {
    pub(crate) socket: WsReader<ReadHalf<BoxStream>>,
    decryptor: Decryptor,
    /// Fires at the earliest when the other end may be silent for too long: it is set again then, and not with every message.
    silence: Pin<Box<Sleep>>,
}

/// What arrives over a link.
#[derive(Debug)]
pub(crate) enum Arrival {
    Frame(Frame, Vec<u8>),
    Ping(Vec<u8>),
    Pong,
}

impl LinkReader {
    pub(crate) fn new(socket: WsReader<ReadHalf<BoxStream>>, decryptor: Decryptor) -> Self {
        Self { socket, decryptor, silence: Box::pin(sleep(SILENCE)) }
    }

    async fn message(&mut self) -> io::Result<WsMessage> {
        let end = Instant::now() + SILENCE;
        let mut message = pin!(self.socket.next());
        loop {
            tokio::select! {
                biased;
                message = &mut message => return message,
                () = self.silence.as_mut() => {
                    if Instant::now() >= end {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, "the other machine is silent"));
                    }
                    self.silence.as_mut().reset(end);
                }
            }
        }
    }

    /// The next arrival; an error means that the connection is lost.
    pub(crate) async fn next(&mut self) -> io::Result<Arrival> {
        match self.message().await? {
            WsMessage::Binary(message) => {
                let (frame, body) = Frame::decode(self.decryptor.decrypt(message)?)?;
                Ok(Arrival::Frame(frame, body))
            }
            WsMessage::Ping(payload) => Ok(Arrival::Ping(payload)),
            WsMessage::Pong => Ok(Arrival::Pong),
            WsMessage::Text(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the other machine sent text, which no node does")),
            WsMessage::Close => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other machine closed the connection")),
        }
    }
}

/// Writes frames.
#[derive(Debug)]
pub(crate) struct LinkWriter {
    pub(crate) socket: WsWriter<WriteHalf<BoxStream>>,
    pub(crate) encryptor: Encryptor,
}

impl LinkWriter {
    /// Sends one frame with its body.
    pub(crate) async fn send(&mut self, frame: &Frame, body: &[u8]) -> io::Result<()> {
        let mut message = frame.encode(body)?;
        if message.len() + OVERHEAD > MAX_MESSAGE {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the message is longer than a megabyte"));
        }
        self.encryptor.encrypt(&mut message)?;
        in_time(self.socket.binary(&message)).await
    }

    /// Asks whether the other end is there.
    pub(crate) async fn ping(&mut self) -> io::Result<()> {
        in_time(self.socket.send(&WsMessage::Ping(Vec::new()))).await
    }

    pub(crate) async fn pong(&mut self, payload: &[u8]) -> io::Result<()> {
        in_time(self.socket.pong(payload)).await
    }

    pub(crate) async fn close(&mut self) {
        in_time(self.socket.send(&WsMessage::Close)).await.ok();
    }
}

async fn in_time(write: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    timeout(WRITE, write).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::keys;

    #[tokio::test(start_paused = true)]
    async fn silence_is_counted_from_the_last_message() {
        let (near, far) = tokio::io::duplex(1 << 10);
        let socket = OpenSocket::new(Box::new(near), WsRole::Client);
        let mut reader = LinkReader::new(socket.reader, Decryptor::new(keys(b"shared", b"transcript").unwrap().0));
        let pause = SILENCE.checked_sub(Duration::from_secs(1)).unwrap();
        let other = tokio::spawn(async move {
            let mut writer = WsWriter::new(far, WsRole::Server);
            for _ in 0..3 {
                sleep(pause).await;
                writer.send(&WsMessage::Ping(Vec::new())).await.unwrap();
            }
            std::future::pending::<()>().await;
        });
        let start = Instant::now();
        for _ in 0..3 {
            assert!(matches!(reader.next().await, Ok(Arrival::Ping(_))));
        }
        let error = reader.next().await.unwrap_err();
        assert_eq!((error.kind(), start.elapsed().as_secs()), (io::ErrorKind::TimedOut, (3 * pause + SILENCE).as_secs()));
        other.abort();
    }
}
