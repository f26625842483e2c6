-- Messages that were to be sent: the intent is written before, the outcome after.
CREATE TABLE channel_messages (
    sequence    INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    channel     TEXT NOT NULL,
    recipient   TEXT NOT NULL,
    action      TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    excerpt     TEXT NOT NULL,
    session     TEXT,
    call        TEXT,
    created     INTEGER NOT NULL,
    outcome     TEXT,
    ended       INTEGER,
    message     TEXT,
    reason      TEXT
) STRICT;

CREATE INDEX channel_messages_by_fingerprint ON channel_messages (fingerprint, sequence);

-- Senders that the user let in, besides those of the configuration.
CREATE TABLE channel_senders (
    channel TEXT NOT NULL,
    sender  TEXT NOT NULL,
    name    TEXT NOT NULL,
    added   INTEGER NOT NULL,
    UNIQUE (channel, sender)
) STRICT;

-- One open code for each channel, as a hash, and how often it was guessed.
CREATE TABLE channel_codes (
    channel TEXT NOT NULL UNIQUE,
    hash    TEXT NOT NULL,
    expires INTEGER NOT NULL,
    guesses INTEGER NOT NULL
) STRICT;

-- The session of each conversation, and the sender of its newest message.
CREATE TABLE channel_conversations (
    channel      TEXT NOT NULL,
    conversation TEXT NOT NULL,
    session      TEXT NOT NULL,
    sender       TEXT NOT NULL, -- JSON
    is_owner     INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    UNIQUE (channel, conversation)
) STRICT;

CREATE INDEX channel_conversations_by_session ON channel_conversations (session);

CREATE TRIGGER channel_conversations_end_with_their_session AFTER DELETE ON sessions BEGIN
    DELETE FROM channel_conversations WHERE session = OLD.id;
END;

-- Messages that came in, each of which is taken once; and how far each channel was read.
CREATE TABLE channel_seen (
    channel TEXT NOT NULL,
    message TEXT NOT NULL,
    at      INTEGER NOT NULL,
    UNIQUE (channel, message)
) STRICT;

CREATE TABLE channel_cursors (
    channel TEXT NOT NULL UNIQUE,
    cursor  TEXT NOT NULL
) STRICT;
