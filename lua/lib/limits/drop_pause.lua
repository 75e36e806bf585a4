-- Removes the pause of the hash `key`, a queue's settings or the state of a group. A statement, as lib/core/wake.
-- Needs: key.
redis.call('HDEL', key, 'paused_at_ms', 'paused_by', 'pause_reason', 'paused_until_ms')
