-- Small columns first: a scan then never reads the overflow pages of large arguments.
CREATE TABLE calls (
    id                 TEXT PRIMARY KEY NOT NULL,
    call_id            TEXT NOT NULL,
    session            TEXT NOT NULL,
    agent              TEXT NOT NULL,
    tool               TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('begun', 'success', 'error')),
    error_type         TEXT,
    undone             INTEGER NOT NULL,
    started            INTEGER NOT NULL, -- nanoseconds since 1970
    elapsed            INTEGER NOT NULL, -- nanoseconds
    workspace          BLOB NOT NULL,    -- a path's bytes, which need not be text
    summary            TEXT NOT NULL,
    decision           TEXT NOT NULL,    -- JSON, as are the next three
    effects            TEXT NOT NULL,
    arguments          TEXT NOT NULL,
    original_arguments TEXT
) STRICT;

CREATE INDEX calls_by_call_id ON calls (call_id, id);
CREATE INDEX calls_by_session ON calls (session, id);

CREATE TABLE pre_images (
    sequence            INTEGER PRIMARY KEY,
    record              TEXT NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    path                BLOB NOT NULL,
    content             TEXT,            -- the name of a blob; NULL if the file did not exist
    mode                INTEGER,
    after               TEXT,
    created_directories BLOB NOT NULL    -- paths, each ended by a NUL
) STRICT;

CREATE INDEX pre_images_by_record ON pre_images (record);
