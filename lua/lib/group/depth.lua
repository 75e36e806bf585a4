-- How many jobs wait in a group, and in all groups together.
-- note_depth(name, depth, running, head_rank): writes that of one group. depth and running: jobs in its line, and in its slots.
-- head_rank: the rank of its first job. count_waiting(): writes that of all, once in a script, after the last note_depth.
-- Needs: lib/group/state, lib/group/stands.
local function note_depth(name, depth, running, head_rank)
  waiting_change = waiting_change + depth - (tonumber(score_in(group_keys.depths, name) or nil) or 0)
  if depth + running == 0 then
    leave_stand(group_keys.depths, name)
  else
    stand_in(group_keys.depths, name, string.format('%d', depth))
  end
  write_stand(group_keys.heads, name, depth > 0 and string.format('%d', tonumber(head_rank) % 2 ^ 40))
end

local function count_waiting()
  if waiting_change ~= 0 then
    redis.call('HINCRBY', group_keys.settings, 'waiting', string.format('%d', waiting_change))
    waiting_change = 0
  end
end
