-- Take an idempotency key, unless it is taken; an answer older than a day is replaced. Waits for
-- the transaction that has taken it. Index: primary key of answers.
INSERT INTO duetime_answers (id, tenant, digest, created_at)
VALUES (:key_id, :tenant, :digest, :now)
ON CONFLICT (id) DO UPDATE SET
    digest = excluded.digest, created_at = excluded.created_at,
    status = NULL, location = NULL, document = NULL
WHERE duetime_answers.created_at < :until
RETURNING id
