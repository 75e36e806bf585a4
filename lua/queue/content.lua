#!lua flags=no-writes,allow-oom
-- Reads how the workers of the queue store what its jobs carry, and what of it is not to be shown.
-- KEYS: the standard keys, see lib/core/keys
-- Returns the JSON of the worker that announced itself last; nil where none has. Repeated: reads again.
--@include lib/core/keys
return redis.call('HGET', sweep, 'content')
