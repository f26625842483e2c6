-- Whether a message after its end continues a sub-agent, and where its commands run.
ALTER TABLE sub_agents ADD COLUMN is_open INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sub_agents ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'inherit';
