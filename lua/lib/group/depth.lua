-- How many jobs wait in a group, and in all groups together.
-- note_depth(name, depth, running, head_rank): writes that of one group. depth and running: jobs in its line, and in its slots.
-- head_rank: the rank of its first job. count_waiting(): writes that of all, once in a script, after the last note_depth.
-- Needs: lib/group/state.
local function note_depth(name, depth, running, head_rank)
  local before = tonumber(redis.call('ZSCORE', group_keys.depths, name) or nil)
  waiting_change = waiting_change + depth - (before or 0)
  if depth + running == 0 then
    redis.call('ZREM', group_keys.depths, name)
  elseif depth ~= before then
    redis.call('ZADD', group_keys.depths, string.format('%d', depth), name)
  end
  if depth == 0 then
    redis.call('ZREM', group_keys.heads, name)
  else
    redis.call('ZADD', group_keys.heads, string.format('%.0f', tonumber(head_rank) % 2 ^ 40), name)
  end
end

local function count_waiting()
  if waiting_change ~= 0 then
    redis.call('HINCRBY', group_keys.settings, 'waiting', string.format('%d', waiting_change))
    waiting_change = 0
  end
end
