#!lua flags=no-writes,allow-oom
-- Looks for members here of batches in another queue, and returns the ends that this queue may never report. A member may be
-- gone with all its traces, after a failover or by hand. Or nobody maintains this queue.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the queue of the batches
-- ARGV[2] the most bytes to return; the first end is returned in any case
-- ARGV, then for each member: batch, id
-- Returns, for each member that has ended or is gone: batch, id, number, state, result (JSON, or the reason of a failure).
--   number: that of its report, if the outbox still has it; else 0
--   state: as in lua/batch/deliver
--   Repeated: looks again.
--@include lib/core/keys
local home, most_bytes = ARGV[1], tonumber(ARGV[2])
local ended = { completed = true, failed = true, cancelled = true }
local reply, bytes = {}, 0

-- Returns how a job has ended; nil before its end. Leaves a key of another type to the claim of that job.
local function end_of(id)
  local found = redis.pcall('HMGET', job .. id, 'status', 'result', 'last_error')
  if found.err then
    return nil
  elseif not found[1] then
    return 'removed', ''
  end
  return ended[found[1]] and found[1], found[1] == 'failed' and found[3] or found[2] or ''
end

for i = 3, #ARGV, 2 do
  local batch, id = ARGV[i], ARGV[i + 1]
  local entry = redis.call('HGET', batch_outbox, home .. '\t' .. batch .. '\t' .. id)
  local number, state, result
  if entry then
    number, state, result = string.match(entry, '^(%d+)\n(%l+)\n(.*)$')
  else
    number, state, result = '0', end_of(id)
  end
  if state then
    bytes = bytes + #result
    if bytes > most_bytes and #reply > 0 then
      break
    end
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = batch, id, number, state, result
  end
end
return reply
