//! What a database server reports, sorted by what to do about it.

use std::fmt;

/// What is wrong with a database server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerFault {
    /// It cannot be reached, or the connection broke: it is stopped, starts, or fails over.
    Unreachable,
    /// It takes no more connections.
    TooManyConnections,
    /// It refuses changes: it is a standby, or was made read-only.
    ReadOnly,
    /// Its disk is full, or it has no memory left.
    Full,
    /// It refuses this user, password or database, or a right is missing.
    Refused,
    /// Its certificate is not one that this machine trusts, or it does not encrypt.
    Unencrypted,
    /// The connection broke while a change was being committed, and the server has not said since whether it was.
    Unknown,
    /// It does not take this value.
    Rejected,
    /// It has a value that makes no sense.
    Unreadable,
    /// It has data of another file than the one that is copied to it.
    InUse,
    /// It does not have what the file has that was copied to it.
    Differs,
    /// Anything else.
    Other,
}

impl ServerFault {
    fn what(self) -> &'static str {
        match self {
            Self::Unreachable => "cannot be reached",
            Self::TooManyConnections => "takes no more connections",
            Self::ReadOnly => "takes no changes",
            Self::Full => "has no space left",
            Self::Refused => "refuses haft",
            Self::Unencrypted => "cannot be spoken to in secret",
            Self::Unknown => "was lost while a change was committed, so it is not known whether the change was made",
            Self::Rejected => "does not take a value",
            Self::Unreadable => "holds a value that cannot be read",
            Self::InUse => "has other data already",
            Self::Differs => "does not have the same as the file",
            Self::Other => "reports a problem",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Unreachable => "start it, or check HAFT_STORE; what waits to be written is kept and tried again",
            Self::TooManyConnections => "stop other clients, raise max_connections, or put a pooler in front of it",
            Self::ReadOnly => "name the primary in HAFT_STORE (several hosts may be named), or make it writable again",
            Self::Full => "free space on its disk; what waits to be written is kept and tried again",
            Self::Refused => "check the user, the password, the database and its rights in HAFT_STORE",
            Self::Unencrypted => {
                "name the certificate that signed the server's in SSL_CERT_FILE, and the host as the certificate does in HAFT_STORE; turn TLS on at \
                 the server if it has none"
            }
            Self::Unknown => "read the session again before you repeat it",
            Self::Rejected => "nothing of this change was made",
            Self::Unreadable => "a newer haft may have written it; look at the row named here",
            Self::InUse => "copy to an empty database, or to a schema of its own",
            Self::Differs => "end every haft that uses one of them, empty the database, and copy again",
            Self::Other => "look at the log of the server",
        }
    }
}

/// Which server, what is wrong with it, what it said, and what to do: the message of an error.
pub(super) struct Told<'a>(pub(super) &'a str, pub(super) ServerFault, pub(super) &'a str);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(server, fault, said) = self;
        write!(f, "the database server {server} {} ({said}): {}", fault.what(), fault.advice())
    }
}
