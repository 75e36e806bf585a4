#!lua flags=no-writes,allow-oom
-- Returns how the content of the queue's jobs is stored, and which parts of it are hidden.
-- KEYS: the standard keys, see lib/core/keys
-- Returns the JSON of the worker that announced itself last, then that of the last producer with a codec or a redaction;
--   nil where there is none. Repeated: reads again.
--@include lib/core/keys
return redis.call('HMGET', sweep, 'content', 'producer_content')
