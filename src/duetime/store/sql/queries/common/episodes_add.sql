-- Insert an episode that has begun. Index: primary key of episodes.
INSERT INTO duetime_episodes (topic, subject, opened_at, data)
VALUES (:topic, :subject, :now, :data)
