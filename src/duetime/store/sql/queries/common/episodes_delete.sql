-- Delete an episode that is over. Index: primary key of episodes.
DELETE FROM duetime_episodes
WHERE topic = :topic AND subject = :subject
