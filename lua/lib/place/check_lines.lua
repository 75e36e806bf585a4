-- Raises an error if a line has another type, before a job leaves its place.
-- Needs: lib/core/keys.
redis.call('LLEN', pending)
redis.call('ZCARD', prioritized)
