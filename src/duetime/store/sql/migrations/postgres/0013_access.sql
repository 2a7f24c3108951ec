-- Who may do what: grants, API keys, one-time links and sessions; and from which address something
-- was changed. Older code leaves the address empty. Of secrets only hashes are stored.

CREATE TABLE duetime_grants (
    id uuid PRIMARY KEY,
    role text NOT NULL,
    permission text NOT NULL,
    tenant text,
    allowed smallint NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL
);

CREATE UNIQUE INDEX duetime_grants_role
ON duetime_grants (role, permission, coalesce(tenant, ''));

CREATE TABLE duetime_api_keys (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    roles text NOT NULL,
    tenant text,
    secret_hash text NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    expires_at bigint,
    last_used_at bigint
);

CREATE TABLE duetime_links (
    id uuid PRIMARY KEY,
    secret_hash text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE duetime_sessions (
    id uuid PRIMARY KEY,
    "user" text NOT NULL,
    roles text NOT NULL,
    tenant text,
    api_key uuid,
    local smallint NOT NULL,
    secret_hash text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    seen_at bigint NOT NULL
);

ALTER TABLE duetime_audit ADD COLUMN address text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (13, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
