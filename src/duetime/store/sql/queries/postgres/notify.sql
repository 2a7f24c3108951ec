-- Notify listeners in other processes. A transaction for this :alone need not wait for the disk: a
-- server crash also disconnects all listeners. A caller's transaction keeps its own setting.
SELECT
    set_config('synchronous_commit', 'off', TRUE), -- if :alone
    pg_notify(:channel, :message)
