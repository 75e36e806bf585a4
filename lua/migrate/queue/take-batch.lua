#!lua flags=allow-oom
-- Takes the record of a batch of a queue that moves: here -> in transit. Its members follow, see migrate/queue/take.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] fence    of this mover
-- ARGV[2] id
-- Returns stale if another mover has begun, else taken, or why it stays: gone, open (not sealed), elsewhere (it has members or a
--   follow-up in another queue), running (a job runs here).
-- Repeated: gone.
--@include lib/core/keys
--@include lib/batch/by_age
--@include lib/move/transit
local id = ARGV[2]
local key = batch_record .. id
if is_overtaken(ARGV[1]) then
  return 'stale'
end

local function has_member_elsewhere()
  for _, member in ipairs(redis.call('LRANGE', key .. '/members', 0, -1)) do
    if string.find(member, '\t', 1, true) then
      return true
    end
  end
  return false
end

local created, sealed, ended, a, b, c = unpack(redis.call('HMGET', key, 'created_at_ms', 'sealed_at_ms', 'ended_at_ms',
  'then_elsewhere', 'on_failure_elsewhere', 'finally_elsewhere'))
if not created or ended then
  return 'gone'
elseif not sealed then
  return 'open'
elseif a or b or c or has_member_elsewhere() then
  return 'elsewhere'
elseif redis.call('EXISTS', claims, processing) > 0 then
  return 'running'
end
for _, part in ipairs(batch_parts) do
  if redis.call('EXISTS', key .. part) == 1 then
    redis.call('RENAME', key .. part, moving_batch .. id .. part)
  end
end
redis.call('ZREM', batches, id)
redis.pcall('ZREM', batches_by_age, id)
redis.call('HSET', moving_batches, id, ARGV[1] .. '-b' .. redis.call('HINCRBY', moving_state, 'order', 1))
redis.call('HSET', moving_watch, 'b' .. id, '1')
return 'taken'
