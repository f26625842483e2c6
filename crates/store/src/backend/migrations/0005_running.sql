-- Calls that were begun and have no outcome yet, each with the process that runs it. Nearly always empty.
CREATE TABLE running (
    record   TEXT PRIMARY KEY NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    presence TEXT NOT NULL      -- the process lives while it holds its lock on the file of this name
) STRICT;
