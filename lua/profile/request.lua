#!lua
-- Asks the workers of a queue to measure the next attempt. A queue has one profile at a time. A request replaces a profile
-- that has ended. See docs/internals/profile.md.
-- Transition: none
-- KEYS[1] profile  hash, the profile of the queue
-- KEYS[2] workers  sorted set, workers that serve the queue, score = last seen in ms
-- KEYS[3] names    sorted set, names of handled jobs, score = when a worker last announced one in ms
-- ARGV[1] the id of the request
-- ARGV[2] the name of the jobs, or '' for any
-- ARGV[3] its kind (cpu, heap)
-- ARGV[4] how long is measured at most, in ms
-- ARGV[5] how long the request lasts, in ms
-- ARGV[6] how long ago a worker may have been seen, in ms
-- Returns asked | busy (another request is open) | unserved (no worker is live) | unhandled (no worker handles the name).
--   Only `asked` has written anything. Repeated: the same.
local profile, workers, names = unpack(KEYS)
local id, name = ARGV[1], ARGV[2]
--@include lib/core/clock
--@include lib/place/announced
local since = now - tonumber(ARGV[6])
local state, of = unpack(redis.call('HMGET', profile, 'state', 'id'))
if of == id then
  return 'asked'
end
if state == 'asked' or state == 'running' then
  return 'busy'
end
if redis.call('ZCOUNT', workers, since, '+inf') == 0 then
  return 'unserved'
end
if name ~= '' and announced_of(name) < since then
  return 'unhandled'
end
redis.call('UNLINK', profile)
redis.call('HSET', profile, 'state', 'asked', 'id', id, 'name', name, 'kind', ARGV[3], 'for_ms', ARGV[4], 'asked_at_ms', now_text)
redis.call('PEXPIRE', profile, ARGV[5])
return 'asked'
