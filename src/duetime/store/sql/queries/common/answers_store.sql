-- Store the answer of a key that was taken. Index: primary key of answers.
UPDATE duetime_answers
SET status = :status, location = :location, document = :document
WHERE id = :key_id
