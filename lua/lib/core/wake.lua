-- Sets the marker that wakes one idle worker. A statement, so that a script can include it at each place.
-- Needs: wake.
--@cluster lib/waiters/wake
redis.call('ZADD', wake, '0', '1')
