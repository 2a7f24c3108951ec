-- Pauses of queues; and of a worker its version, which says that it knows them, and the use of its
-- slots, in JSON. Older code leaves both columns empty, and claims from paused queues.

-- A queue that was paused once keeps its row.
CREATE TABLE duetime_queues (
    name text COLLATE "C" PRIMARY KEY,
    paused_at bigint,
    paused_by text,
    pause_note text,
    paused_until bigint
);

ALTER TABLE duetime_workers ADD COLUMN code_version text;

ALTER TABLE duetime_workers ADD COLUMN slots text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (9, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
