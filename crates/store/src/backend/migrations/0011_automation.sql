-- Scheduled jobs. A job is changed by the process that read its version, so that two servers cannot both take a run.
CREATE TABLE automation_jobs (
    id        TEXT PRIMARY KEY NOT NULL,
    workspace BLOB NOT NULL,    -- a path's bytes, which need not be text
    next_due  INTEGER,          -- nanoseconds since 1970; NULL while the job is off or has no more runs
    version   INTEGER NOT NULL,
    body      TEXT NOT NULL     -- JSON
) STRICT;

CREATE INDEX automation_jobs_by_workspace ON automation_jobs (workspace);
CREATE INDEX automation_jobs_due ON automation_jobs (workspace, next_due) WHERE next_due IS NOT NULL;

-- Runs of jobs; they outlive their job.
CREATE TABLE automation_runs (
    sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT UNIQUE NOT NULL,
    job          TEXT NOT NULL,
    workspace    BLOB NOT NULL,
    scheduled    INTEGER,          -- the time of the schedule that it runs for; NULL if somebody asked for it
    is_open      INTEGER NOT NULL, -- whether it, or its delivery, has not ended
    delivery_due INTEGER,
    presence     TEXT,             -- the process that works on it; it lives while it holds its lock on the file of this name
    body         TEXT NOT NULL     -- JSON
) STRICT;

CREATE UNIQUE INDEX automation_runs_once ON automation_runs (job, scheduled) WHERE scheduled IS NOT NULL;
CREATE INDEX automation_runs_by_job ON automation_runs (job, sequence);
CREATE INDEX automation_runs_by_workspace ON automation_runs (workspace, sequence);
CREATE INDEX automation_runs_open ON automation_runs (workspace) WHERE is_open = 1;
CREATE INDEX automation_runs_delivery ON automation_runs (workspace, delivery_due) WHERE delivery_due IS NOT NULL;

CREATE TABLE automation_notices (
    sequence  INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace BLOB NOT NULL,
    job       TEXT NOT NULL,
    name      TEXT NOT NULL,
    run       TEXT,
    at        INTEGER NOT NULL, -- nanoseconds since 1970
    text      TEXT NOT NULL
) STRICT;

CREATE INDEX automation_notices_by_workspace ON automation_notices (workspace, sequence);
