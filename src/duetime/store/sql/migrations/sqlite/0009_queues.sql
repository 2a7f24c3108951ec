-- Pauses of queues; and of a worker its version, which says that it knows them, and the use of its
-- slots, in JSON. Older code leaves both columns empty, and claims from paused queues.

-- A queue that was paused once keeps its row.
CREATE TABLE duetime_queues (
    name text PRIMARY KEY NOT NULL,
    paused_at integer,
    paused_by text,
    pause_note text,
    paused_until integer
);

ALTER TABLE duetime_workers ADD COLUMN code_version text;

ALTER TABLE duetime_workers ADD COLUMN slots text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (9, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
