-- Notifications: who subscribes to what, events until they are gathered, what was gathered, read
-- marks, and episodes that last. Older code appends no events, and sends nothing.

CREATE TABLE duetime_subscriptions (
    id text PRIMARY KEY NOT NULL,
    tenant text,
    everywhere integer NOT NULL,
    record text NOT NULL
);

CREATE TABLE duetime_events (
    id text PRIMARY KEY NOT NULL,
    at integer NOT NULL,
    topic text NOT NULL,
    tenant text,
    subject text NOT NULL,
    data text NOT NULL,
    ended integer NOT NULL
);

CREATE TABLE duetime_notifications (
    id text PRIMARY KEY NOT NULL,
    subscription_id text NOT NULL,
    minute integer NOT NULL,
    part integer NOT NULL,
    tenant text,
    everywhere integer NOT NULL,
    in_app integer NOT NULL,
    due_at integer NOT NULL,
    record text NOT NULL
);

-- The parts of a minute; messages that somebody asked for may have one instant.
CREATE UNIQUE INDEX duetime_notifications_slot
ON duetime_notifications (subscription_id, minute, part) WHERE part < 2;

CREATE INDEX duetime_notifications_minute ON duetime_notifications (minute);

CREATE INDEX duetime_notifications_in_app ON duetime_notifications (tenant, id) WHERE in_app = 1;

CREATE TABLE duetime_reads (
    reader text NOT NULL,
    notification_id text NOT NULL,
    PRIMARY KEY (reader, notification_id)
);

CREATE INDEX duetime_reads_notification ON duetime_reads (notification_id);

CREATE TABLE duetime_episodes (
    topic text NOT NULL,
    subject text NOT NULL,
    opened_at integer NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (topic, subject)
);

-- One row, which a gathering locks. Its version grows with each change of the subscriptions.
CREATE TABLE duetime_notifier (
    id integer PRIMARY KEY,
    version integer NOT NULL
);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (15, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
