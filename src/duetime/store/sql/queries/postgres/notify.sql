-- Tell listeners in other processes. A transaction for this :alone need not wait for the disk: a
-- crash of the server ends all who listen, too. One of a caller's keeps its own mind about that.
SELECT
    set_config('synchronous_commit', 'off', TRUE), -- if :alone
    pg_notify(:channel, :message)
