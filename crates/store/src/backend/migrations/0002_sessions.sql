CREATE TABLE sessions (
    id        TEXT PRIMARY KEY NOT NULL,
    title     TEXT,
    agent     TEXT NOT NULL,
    model     TEXT,
    workspace BLOB NOT NULL,    -- a path's bytes, which need not be text
    created   INTEGER NOT NULL, -- nanoseconds since 1970, as are all times
    updated   INTEGER NOT NULL,
    parent    TEXT,             -- no reference: a fork outlives what it was forked from
    parent_at INTEGER,
    closed    INTEGER NOT NULL,
    messages  INTEGER NOT NULL  -- how many there are, and so the next one's number
) STRICT;

CREATE INDEX sessions_by_updated ON sessions (updated, id);

CREATE TABLE messages (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    created INTEGER NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (session, number)
) STRICT;

CREATE TABLE messages_replaced (
    sequence INTEGER PRIMARY KEY,
    session  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    created  INTEGER NOT NULL,
    body     TEXT NOT NULL,
    reason   TEXT NOT NULL,
    replaced INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_replaced_by_session ON messages_replaced (session, sequence);

CREATE TABLE claims (
    session  TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    token    TEXT NOT NULL,     -- of this one claim
    presence TEXT NOT NULL,     -- the claim holds while the owner holds its lock on the file of this name
    pid      INTEGER NOT NULL,  -- this and what follows is only for people
    host     TEXT NOT NULL,
    since    INTEGER NOT NULL
) STRICT;

-- No reference either: what was spent on a day was spent, whether or not its session is kept.
CREATE TABLE usage (
    session      TEXT NOT NULL,
    turn         INTEGER NOT NULL,
    model        TEXT NOT NULL,
    input        INTEGER NOT NULL,
    output       INTEGER NOT NULL,
    cached       INTEGER NOT NULL,
    cache_writes INTEGER NOT NULL,
    reasoning    INTEGER NOT NULL,
    cost_micros  INTEGER,
    at           INTEGER NOT NULL,
    day          TEXT NOT NULL
) STRICT;

CREATE INDEX usage_by_session ON usage (session);
CREATE INDEX usage_by_day ON usage (day);
