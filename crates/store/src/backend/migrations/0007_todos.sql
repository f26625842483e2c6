-- Every version of every to-do list. No reference to a session: the list of calls outside a conversation is of their workspace.
CREATE TABLE todo_lists (
    sequence INTEGER PRIMARY KEY,
    session  TEXT NOT NULL,
    call     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    body     TEXT NOT NULL
) STRICT;

CREATE INDEX todo_lists_by_session ON todo_lists (session, sequence);

CREATE TRIGGER todo_lists_end_with_their_session AFTER DELETE ON sessions BEGIN
    DELETE FROM todo_lists WHERE session = OLD.id;
END;
