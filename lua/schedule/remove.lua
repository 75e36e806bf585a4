#!lua flags=allow-oom
-- Deletes a schedule. Jobs that it enqueued stay. A schedule that code still declares is refused, because the code
-- would create it again.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] how long a declaration lasts, in ms
-- Returns removed | missing | declared. Repeated: missing.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/schedule/rest
local id, key = ARGV[1], schedule .. ARGV[1]
local source = redis.call('HGET', key, 'source')
if source == 'code' and is_declared(id, tonumber(ARGV[2])) then
  return 'declared'
end
redis.call('ZREM', schedule_due, id)
redis.call('ZREM', schedule_owners, id)
return redis.call('UNLINK', key) == 1 and 'removed' or 'missing'
