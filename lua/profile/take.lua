#!lua
-- Gives a request for a profile to an attempt, which is then measured. The first attempt gets it.
-- Transition: none
-- KEYS[1] profile  hash, the profile of the queue
-- ARGV[1] the id of the request
-- ARGV[2] worker
-- ARGV[3] the id of the job
-- ARGV[4] the number of the attempt
-- ARGV[5] how long the worker may take, in ms
-- Returns 1 if this attempt has the request, else 0. Repeated: the same.
local profile = KEYS[1]
local id, worker, job_id, attempt = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
--@include lib/core/clock
local found = redis.call('HMGET', profile, 'id', 'state', 'worker', 'job', 'attempt')
if found[1] ~= id then
  return 0
end
if found[2] == 'running' then
  return found[3] == worker and found[4] == job_id and found[5] == attempt and 1 or 0
end
if found[2] ~= 'asked' then
  return 0
end
redis.call('HSET', profile, 'state', 'running', 'worker', worker, 'job', job_id, 'attempt', attempt, 'started_at_ms', now_text)
redis.call('PEXPIRE', profile, ARGV[5])
return 1
