#!lua flags=allow-oom
-- Checks ids that seem to be in a history twice, and removes all places but the newest if asked. An id that was used again
-- after its first hash was gone is there twice without a fault. Then a job that ended later than the old place ended no
-- later than the enqueue of this job. A search for an id in a list is O(its length), so a call ends after its budget of
-- entries.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] '1' to repair
-- ARGV[2] state: completed, failed or cancelled
-- ARGV[3] budget in list entries
-- ARGV[4..] ids
-- Returns how many were checked, then for each fault: id, found. Repeated: checks again.
--@include lib/core/keys
--@include lib/core/read
local repairing, state, budget = ARGV[1] == '1', ARGV[2], tonumber(ARGV[3])
local list = ({ completed = completed, failed = failed, cancelled = cancelled })[state]
local ended_at = state .. '_at_ms'
local nearest = 10

-- Returns whether one of the jobs that ended soon after the entry at this index had ended when the job was enqueued.
local function is_of_earlier_use(id, at, enqueued_at)
  for _, other in ipairs(redis.call('LRANGE', list, math.max(0, at - nearest), at - 1)) do
    local ended = other ~= id and tonumber(read(job .. other, ended_at)[1] or nil)
    if ended and ended <= enqueued_at then
      return true
    end
  end
  return false
end

-- Returns how many entries of the id are too many.
local function count_extra(id, entries)
  local status, enqueued_at = unpack(read(job .. id, 'status', 'enqueued_at_ms'))
  if status ~= state then
    return 0 -- in use again, or gone: the sweep removes its entries
  end
  local extra = 0
  for i = 2, #entries do
    extra = extra + (is_of_earlier_use(id, entries[i], tonumber(enqueued_at or nil) or 0) and 0 or 1)
  end
  return extra
end

local judged, reply = 0, { 0 }
for i = 4, #ARGV do
  local id = ARGV[i]
  local entries = redis.call('LPOS', list, id, 'COUNT', 0)
  local extra = count_extra(id, entries)
  if extra > 0 then
    local n = #reply
    reply[n + 1], reply[n + 2] = id, #entries .. ' times in ' .. state
    if repairing then
      redis.call('LREM', list, 1 - #entries, id) -- from the oldest on
    end
  end
  judged = judged + 1
  budget = budget - redis.call('LLEN', list) - 1
  if budget <= 0 then
    break
  end
end
reply[1] = judged
return reply
