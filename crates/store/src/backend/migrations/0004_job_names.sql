ALTER TABLE jobs RENAME COLUMN line TO command;
ALTER TABLE jobs RENAME COLUMN walls TO sandbox;
ALTER TABLE jobs RENAME COLUMN born TO start_time; -- kernel start time of the process
ALTER TABLE jobs RENAME COLUMN keeper TO socket;   -- of the supervisor, the process that runs the job
