#!lua flags=allow-oom
-- Removes entries from the outbox that their queues have received. An entry stays if a later one replaced it.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the fence of a sender of follow-ups, see lua/batch/follow-ups; '' for ends of jobs
-- ARGV, then for each: queue, batch and id with tabs between, its number
-- Returns how many were removed; -1 if another sender has drawn a fence, and nothing was removed. Repeated: 0, or -1.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/batch/end_batch
if ARGV[1] ~= '' and redis.call('HGET', sweep, 'follow_up_fence') ~= ARGV[1] then
  return -1
end
local gone = 0
for i = 2, #ARGV, 2 do
  local entry = redis.call('HGET', batch_outbox, ARGV[i])
  if entry and string.match(entry, '^%d+') == ARGV[i + 1] then
    gone = gone + redis.call('HDEL', batch_outbox, ARGV[i])
    local key, kind = batch_record .. string.match(ARGV[i], '\t(.-)\t'), string.match(entry, '^%d+\n([%l_]+)\n')
    if ARGV[1] ~= '' and redis.call('HEXISTS', key, 'ended_at_ms') == 1 then
      forget_follow_up(key, kind) -- its batch ended before
    end
  end
end
return gone
