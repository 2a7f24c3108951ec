-- Take actions by their places, which nobody can change while we write. A token is the claim's own
-- :tokens and that place.
UPDATE duetime_actions
SET
    token = :tokens || printf('%012x', rowid & 281474976710655),
    worker = :worker,
    lease_until = :now + :lease,
    attempt = attempt + 1,
    started_at = max(:now, due_at)
WHERE rowid IN (SELECT value FROM json_each(:places))
