#!lua flags=allow-oom
-- Checks suspects in their present state, and repairs them if asked. A job goes to the place of its status or to its only
-- place. A doubtful job becomes a dead letter with the reason. No job is deleted. A search for an id in a list is O(its
-- length), so a call ends after its budget of entries.
-- Transition: inspect
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] '1' to repair
-- ARGV[12] visibility in ms
-- ARGV[13] budget in list entries
-- ARGV[14..] ids
-- Returns how many were checked, then for each fault: id, kind, found, expected. Repeated: checks again.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/core/events
--@include lib/retention/add_to_history
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/settle/finish
--@include lib/settle/finish_broken_end
--@include lib/doctor/inspect
--@include lib/doctor/oversized
--@include lib/doctor/repair
--@include lib/settle/set_aside
local repairing, visibility, budget = ARGV[first] == '1', tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
local judged, reply = 0, { 0 }

-- Moves a job with too long an id to the dead letters, under a short one.
local function inspect_long(id)
  local n = #reply
  reply[n + 1], reply[n + 2] = string.sub(id, 1, 128), 'oversized'
  reply[n + 3], reply[n + 4] = string.format('an id of %d bytes', #id), string.format('at most %d', longest_id)
  if repairing then
    leave_lines(id)
    set_aside(id)
  end
end

-- Moves a job with too large a part to the dead letters. Returns that part in words, nil without one.
local function inspect_large(id)
  local found, most = oversized_of(id)
  if found then
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, 'oversized', found, string.format('at most %d', most)
    if repairing then
      cut_down(id, found)
    end
  end
  return found
end

for i = first + 3, #ARGV do
  local id = ARGV[i]
  if #id > longest_id then
    inspect_long(id)
  elseif not inspect_large(id) then
    local at = inspect(id, #redis.call('LPOS', pending, id, 'COUNT', 0), #redis.call('LPOS', processing, id, 'COUNT', 0))
    at.in_failed = at.status == 'failed' and redis.call('LPOS', failed, id)
    local kind, found, expected = fault_of(at)
    if kind then
      local n = #reply
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, kind, found, expected
      if repairing then
        repair(at, found, visibility)
      end
    end
  end
  judged = judged + 1
  budget = budget - redis.call('LLEN', pending) - redis.call('LLEN', processing) - 1
  if budget <= 0 then
    break
  end
end
place_groups()
reply[1] = judged
return reply
