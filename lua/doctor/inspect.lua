#!lua flags=allow-oom
-- Checks suspects in their present state, and repairs them if asked. A job goes to the place of its status or to its only
-- place. A doubtful job becomes a dead letter with the reason. No job is deleted. A search for an id in a list is O(its
-- length), so a call ends after its budget of entries.
-- Transition: inspect
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..9]: retention and limits, see lib/retention/retention_args
-- ARGV[10] '1' to repair
-- ARGV[11] visibility in ms
-- ARGV[12] budget in list entries
-- ARGV[13..] ids
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
--@include lib/doctor/repair
local repairing, visibility, budget = ARGV[first] == '1', tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
local judged, reply = 0, { 0 }

for i = first + 3, #ARGV do
  local id = ARGV[i]
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
  judged = judged + 1
  budget = budget - redis.call('LLEN', pending) - redis.call('LLEN', processing) - 1
  if budget <= 0 then
    break
  end
end
place_groups()
reply[1] = judged
return reply
