-- Claim actions by rowid, which cannot change while we hold the write lock. A token is the claim's
-- :tokens and the rowid.
UPDATE duetime_actions
SET
    token = :tokens || printf('%012x', rowid & 281474976710655),
    worker = :worker,
    lease_until = :now + :lease,
    attempt = min(attempt, 2147483646) + 1,
    started_at = max(:now, due_at)
WHERE rowid IN (SELECT value FROM json_each(:places))
