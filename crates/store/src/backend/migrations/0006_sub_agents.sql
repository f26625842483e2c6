CREATE TABLE sub_agents (
    session     TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    parent      TEXT NOT NULL,    -- no reference: the work of a sub-agent outlives the conversation that wanted it
    depth       INTEGER NOT NULL,
    label       TEXT NOT NULL,
    agent       TEXT NOT NULL,
    agent_type  TEXT NOT NULL,
    task        TEXT NOT NULL,
    model       TEXT NOT NULL,
    state       TEXT NOT NULL,
    background  INTEGER NOT NULL,
    created     INTEGER NOT NULL, -- nanoseconds since 1970, as are all times
    started     INTEGER,
    ended       INTEGER,
    rounds      INTEGER NOT NULL,
    calls       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cost_micros INTEGER,
    answer      TEXT,
    error       TEXT,
    reported    INTEGER NOT NULL,
    presence    TEXT              -- while it has not ended: its process lives while it holds its lock on the file of this name
) STRICT;

CREATE INDEX sub_agents_by_parent ON sub_agents (parent, session);
CREATE INDEX sub_agents_active ON sub_agents (session) WHERE presence IS NOT NULL;
