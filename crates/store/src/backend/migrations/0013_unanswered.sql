-- Messages that came in and are not answered yet, each with the process that answers it. Nearly always empty.
CREATE TABLE channel_waiting (
    sequence INTEGER PRIMARY KEY,
    channel  TEXT NOT NULL,
    message  TEXT NOT NULL,
    body     TEXT NOT NULL,    -- JSON
    at       INTEGER NOT NULL, -- nanoseconds since 1970
    attempts INTEGER NOT NULL, -- processes that have worked on it
    presence TEXT NOT NULL,    -- the process lives while it holds its lock on the file of this name
    UNIQUE (channel, message)
) STRICT;

-- The access level that the user chose for a session; NULL: that of the configuration.
ALTER TABLE sessions ADD COLUMN access TEXT;
