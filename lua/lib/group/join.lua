-- rejoin_group(name, id, priority, to_front): puts a job back into the line. It keeps its rank if it goes to the front,
--   or if its group runs one job at a time. Else it goes to the back. Without a name, because the job's hash is gone,
--   only its hold ends. With too long a name it goes to the line of the queue, where a claim refuses it.
-- note_groups(): marks the queue as having groups, once in a script. From then on claims look for them.
-- Needs: groups, job, pending, settings, lib/core/rank, lib/group/place, lib/group/slot, lib/group/state.
local are_groups_noted = false

local function note_groups()
  are_groups_noted = are_groups_noted or redis.call('HSETNX', settings, 'has_groups', '1') -- 0 is true in Lua
end

local function join_again(name, id, rank)
  note_groups()
  redis.call('HSET', job .. id, 'rank', rank)
  redis.call('ZADD', groups .. 'waiting:' .. name, rank, id)
  touch(name)
end

local function rejoin_group(name, id, priority, to_front)
  if not name then
    return end_hold_of(id)
  elseif #name > 1024 then -- no group has such a name, so its line would be served by nobody
    return redis.call('LPUSH', pending, id)
  end
  end_hold(name, id)
  local keeps = to_front or read_group(name).max_running == 1
  local rank = keeps and redis.call('HGET', job .. id, 'rank')
  join_again(name, id, tonumber(rank) and rank or next_rank(priority))
end
