-- The episodes that last. No index: there are few.
SELECT e.topic, e.subject, e.data
FROM duetime_episodes AS e
