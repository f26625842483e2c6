-- Processor time that commands of a day have used, in hundredths of a second, on all machines.
CREATE TABLE processor_time (
    day   TEXT COLLATE "C" PRIMARY KEY,
    ticks BIGINT NOT NULL
);

-- What users said to a turn that a worker runs, until the model has it.
CREATE TABLE said (
    id      TEXT COLLATE "C" PRIMARY KEY,
    session TEXT COLLATE "C" NOT NULL,
    body    TEXT COLLATE "C" NOT NULL,
    made    TIMESTAMPTZ NOT NULL
);

CREATE INDEX said_by_session ON said (session, made);
