-- Delete sessions: one, those of a user, or those of an API key. Index: primary key of sessions.
DELETE FROM duetime_sessions
WHERE
    seen_at IS NOT NULL
    AND id = :id -- if :id
    AND "user" = :user -- if :user
    AND api_key = :api_key -- if :api_key
RETURNING CAST(id AS text), "user", tenant
