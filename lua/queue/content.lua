#!lua flags=no-writes,allow-oom
-- Returns how the workers store the content of the queue's jobs, and which parts of it are hidden.
-- KEYS: the standard keys, see lib/core/keys
-- Returns the JSON of the worker that announced itself last; nil where none has. Repeated: reads again.
--@include lib/core/keys
return redis.call('HGET', sweep, 'content')
