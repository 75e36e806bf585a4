#!lua
-- Creates a batch: a set of jobs, here and in other queues, whose end enqueues follow-ups.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] '1' to cancel the others once a member has a bad end
-- ARGV[3] how long the members' outcomes are kept after the follow-ups have ended, in ms
-- ARGV[4] how long its record is kept after that, in ms
-- ARGV[5] '1' if the caller chose the id
-- ARGV[6..] for each follow-up: then, on_failure or finally; its name; its payload (JSON); its options (JSON, see
--   lua/job/enqueue); for another queue that queue, a tab and its id, else ''. Then no script reads its options.
-- Returns created | exists (the batch is known; nothing is changed). Repeated: exists.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/batch/by_age
--@include lib/group/place
--@include lib/limits/write_group
--@include lib/group/configure
local key = batch_record .. ARGV[1]
if redis.call('EXISTS', key) == 1 then
  return 'exists'
end
local look_ms, unsealed_ms = 60000, 604800000
redis.call('HSET', key, 'created_at_ms', now_text, 'result_ttl_ms', ARGV[3], 'record_ttl_ms', ARGV[4])
if ARGV[2] == '1' then
  redis.call('HSET', key, 'fail_fast', '1')
end
if ARGV[5] == '1' then
  redis.call('HSET', key, 'has_own_id', '1')
end
for i = 6, #ARGV, 5 do
  local kind = ARGV[i]
  redis.call('HSET', key, kind .. '_name', ARGV[i + 1], kind .. '_payload', ARGV[i + 2], kind .. '_options', ARGV[i + 3])
  if ARGV[i + 4] ~= '' then
    redis.call('HSET', key, kind .. '_elsewhere', ARGV[i + 4])
  end
  -- The code's limits for its group are kept as long as the batch may take. The step that fires it cannot ask for them.
  local options = ARGV[i + 4] == '' and cjson.decode(ARGV[i + 3]) or {}
  if options.group and options.group_limits then
    configure_group(options.group, options.group_limits, now + unsealed_ms, true)
  end
end
place_groups()
redis.call('ZADD', batches, now + look_ms, ARGV[1])
redis.pcall('ZADD', batches_by_age, now_text, ARGV[1])
return 'created'
