-- The answer stored under an idempotency key. Index: primary key of answers.
SELECT digest, status, location, document
FROM duetime_answers
WHERE id = :key_id
