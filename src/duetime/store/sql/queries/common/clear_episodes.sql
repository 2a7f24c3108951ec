-- Delete all episodes.
DELETE FROM duetime_episodes
