-- What a session has read, as far as it matters for leaks, and the skills it has loaded: a process that resumes it must know.
ALTER TABLE sessions ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN untrusted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN skills TEXT; -- JSON

-- The folder that commands of a sub-agent start in (a path's bytes), and how much its model thinks.
ALTER TABLE sub_agents ADD COLUMN cwd BLOB;
ALTER TABLE sub_agents ADD COLUMN thinking TEXT;

-- Sessions of earlier versions: as far as the history of their calls says it.
WITH RECURSIVE tainted (id) AS (
    SELECT session FROM calls WHERE instr(decision, '"untrusted":true') > 0
    UNION
    SELECT parent FROM sub_agents JOIN tainted ON session = tainted.id
)
UPDATE sessions SET private = 1, untrusted = 1 WHERE id IN (SELECT id FROM tainted);
