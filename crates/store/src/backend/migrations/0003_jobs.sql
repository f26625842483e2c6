CREATE TABLE jobs (
    number    INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again, so that no name means two jobs
    session   TEXT NOT NULL,
    workspace BLOB NOT NULL,    -- a path's bytes, which need not be text
    line      TEXT NOT NULL,
    directory BLOB NOT NULL,
    host      TEXT NOT NULL,
    walls     TEXT NOT NULL,
    pid       INTEGER,
    born      INTEGER,          -- as the system counts
    started   INTEGER NOT NULL, -- nanoseconds since 1970
    keeper    BLOB NOT NULL,    -- the socket of the process that runs it
    ended     INTEGER,          -- nanoseconds since 1970; NULL while it runs
    ending    TEXT,             -- JSON
    spill     BLOB,
    bytes     INTEGER NOT NULL
) STRICT;

CREATE INDEX jobs_by_session ON jobs (session);
CREATE INDEX jobs_by_workspace ON jobs (workspace);
