-- Work that workers do: what is to be done, who does it, and what came of it. The queue carries the ids.
CREATE TABLE work (
    id         TEXT COLLATE "C" PRIMARY KEY,
    -- What kind of work, and which tool or agent.
    topic      TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL,
    -- Whether it may be done again when nobody knows whether it was done.
    repeatable BOOLEAN NOT NULL,
    -- queued, claimed, started; then one of done, unknown, expired, cancelled, aside.
    state      TEXT COLLATE "C" NOT NULL,
    made       TIMESTAMPTZ NOT NULL,
    deadline   TIMESTAMPTZ NOT NULL,
    -- Grows with each claim. A worker writes with the number of its claim, and one that was thought dead has an old one.
    fence      BIGINT NOT NULL DEFAULT 0,
    attempts   BIGINT NOT NULL DEFAULT 0,
    worker     TEXT COLLATE "C",
    token      TEXT COLLATE "C",
    leased     TIMESTAMPTZ,
    cancelling BOOLEAN NOT NULL DEFAULT FALSE,
    outcome    TEXT COLLATE "C",
    settled    TIMESTAMPTZ,
    -- What happened to it, line by line.
    story      TEXT[] NOT NULL DEFAULT '{}'
);

CREATE INDEX work_by_state ON work (state, made);
CREATE INDEX work_by_end ON work (settled) WHERE settled IS NOT NULL;

-- The workers that live, or did a moment ago.
CREATE TABLE workers (
    name      TEXT COLLATE "C" NOT NULL,
    token     TEXT COLLATE "C" PRIMARY KEY,
    host      TEXT COLLATE "C" NOT NULL,
    version   TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    topics    TEXT[] NOT NULL,
    running   BIGINT NOT NULL,
    capacity  BIGINT NOT NULL,
    draining  BOOLEAN NOT NULL,
    since     TIMESTAMPTZ NOT NULL,
    seen      TIMESTAMPTZ NOT NULL
);
