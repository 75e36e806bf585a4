#!lua
-- Stores what an attempt has measured, or why it could not.
-- Transition: none
-- KEYS[1] profile  hash, the profile of the queue
-- ARGV[1] the id of the request
-- ARGV[2] the worker that has taken it
-- ARGV[3] the profile, compressed and in base64, or '' without one
-- ARGV[4] the reason without a profile, else ''
-- ARGV[5] how long it is kept, in ms
-- Returns 1 if it is stored, 0 if the request is over or of another worker. Repeated: the same.
local profile = KEYS[1]
local id, worker, content, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
--@include lib/core/clock
local found = redis.call('HMGET', profile, 'id', 'worker', 'state')
if found[1] ~= id or found[2] ~= worker then
  return 0
end
if found[3] == 'running' then
  redis.call('HSET', profile, 'state', content ~= '' and 'done' or 'failed', 'content', content, 'reason', reason,
    'ended_at_ms', now_text)
  redis.call('PEXPIRE', profile, ARGV[5])
end
return 1
