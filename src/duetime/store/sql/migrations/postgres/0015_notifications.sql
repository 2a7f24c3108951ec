-- Notifications: who subscribes to what, events until they are gathered, what was gathered, read
-- marks, and episodes that last. Older code appends no events, and sends nothing.

CREATE TABLE duetime_subscriptions (
    id uuid PRIMARY KEY,
    tenant text,
    everywhere smallint NOT NULL,
    record text NOT NULL
);

CREATE TABLE duetime_events (
    id uuid PRIMARY KEY,
    at bigint NOT NULL,
    topic text NOT NULL,
    tenant text,
    subject text NOT NULL,
    data text NOT NULL,
    ended smallint NOT NULL
);

CREATE TABLE duetime_notifications (
    id uuid PRIMARY KEY,
    subscription_id uuid NOT NULL,
    minute bigint NOT NULL,
    part smallint NOT NULL,
    tenant text,
    everywhere smallint NOT NULL,
    in_app smallint NOT NULL,
    due_at bigint NOT NULL,
    record text NOT NULL
);

-- The parts of a minute; messages that somebody asked for may have one instant.
CREATE UNIQUE INDEX duetime_notifications_slot
ON duetime_notifications (subscription_id, minute, part) WHERE part < 2;

CREATE INDEX duetime_notifications_minute ON duetime_notifications (minute);

CREATE INDEX duetime_notifications_in_app ON duetime_notifications (tenant, id) WHERE in_app = 1;

CREATE TABLE duetime_reads (
    reader text NOT NULL,
    notification_id uuid NOT NULL,
    PRIMARY KEY (reader, notification_id)
);

CREATE INDEX duetime_reads_notification ON duetime_reads (notification_id);

CREATE TABLE duetime_episodes (
    topic text NOT NULL,
    subject text NOT NULL,
    opened_at bigint NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (topic, subject)
);

-- One row, which a gathering locks. Its version grows with each change of the subscriptions.
CREATE TABLE duetime_notifier (
    id smallint PRIMARY KEY,
    version bigint NOT NULL
);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (15, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
