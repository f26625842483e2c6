-- The roles of tenants, in the schema of the operator alone: each owns the schema of its name. Their passwords let the processes of tenants
-- in, and nobody but the role of the operator reads them.
CREATE TABLE tenant_roles (
    role     TEXT COLLATE "C" PRIMARY KEY,
    password TEXT COLLATE "C" NOT NULL
);

-- Calls of a day that count against a quota, of all processes.
CREATE TABLE counted_calls (
    day   TEXT COLLATE "C" PRIMARY KEY,
    calls BIGINT NOT NULL
);
