-- Tenants share workers fairly, and work on one thing, such as a session, is done by one worker at a time.
ALTER TABLE work ADD COLUMN tenant TEXT COLLATE "C" NOT NULL DEFAULT '';
-- What the work needs for itself alone; empty if it needs nothing.
ALTER TABLE work ADD COLUMN holds TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX work_waiting ON work (topic, tenant, made) WHERE state = 'queued';
CREATE INDEX work_running ON work (tenant) WHERE state IN ('claimed', 'started');
CREATE INDEX work_served ON work (tenant, settled) WHERE settled IS NOT NULL;
CREATE INDEX work_holding ON work (holds, made) WHERE holds <> '' AND state IN ('queued', 'claimed', 'started');
-- Whatever a worker thinks, two never have the same thing.
CREATE UNIQUE INDEX work_held_once ON work (holds) WHERE holds <> '' AND state IN ('claimed', 'started');
