-- Bulks: acts on many actions, which go on where their last step stopped. Older code neither
-- continues nor prunes any.

CREATE TABLE duetime_bulks (
    id text PRIMARY KEY NOT NULL,
    -- Of the last step.
    taken_at integer NOT NULL,
    due_at integer,
    shift integer,
    -- Actions with ids below it are still to be taken; all of them, if it is empty.
    front text,
    ended integer NOT NULL,
    verb text NOT NULL,
    -- The tenants that the bulk sees: '*' for all, '-' for actions without tenant, or '=' and a name.
    scope text NOT NULL,
    "by" text NOT NULL,
    note text,
    selection text NOT NULL,
    -- How many actions each step changed and skipped: '998:2 1000:0 '.
    answers text NOT NULL
);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (10, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
