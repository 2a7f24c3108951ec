-- Who may do what: grants, API keys, one-time links and sessions; and from which address something
-- was changed. Older code leaves the address empty. Of secrets only hashes are stored.

CREATE TABLE duetime_grants (
    id text PRIMARY KEY NOT NULL,
    role text NOT NULL,
    permission text NOT NULL,
    tenant text,
    allowed integer NOT NULL,
    created_at integer NOT NULL,
    created_by text NOT NULL
);

CREATE UNIQUE INDEX duetime_grants_role
ON duetime_grants (role, permission, coalesce(tenant, ''));

CREATE TABLE duetime_api_keys (
    id text PRIMARY KEY NOT NULL,
    name text NOT NULL,
    roles text NOT NULL,
    tenant text,
    secret_hash text NOT NULL,
    created_at integer NOT NULL,
    created_by text NOT NULL,
    expires_at integer,
    last_used_at integer
);

CREATE TABLE duetime_links (
    id text PRIMARY KEY NOT NULL,
    secret_hash text NOT NULL,
    created_at integer NOT NULL,
    expires_at integer NOT NULL
);

CREATE TABLE duetime_sessions (
    id text PRIMARY KEY NOT NULL,
    "user" text NOT NULL,
    roles text NOT NULL,
    tenant text,
    api_key text,
    local integer NOT NULL,
    secret_hash text NOT NULL,
    created_at integer NOT NULL,
    expires_at integer NOT NULL,
    seen_at integer NOT NULL
);

ALTER TABLE duetime_audit ADD COLUMN address text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (13, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
