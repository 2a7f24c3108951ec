-- Record a step of a bulk that this transaction has locked. Index: primary key of bulks.
UPDATE duetime_bulks
SET
    front = :until_id,
    ended = :ended,
    answers = answers || :answer,
    taken_at = :now
WHERE id = :id
