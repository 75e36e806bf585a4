-- turns holds the groups that may run, by virtual start time; finishes holds where the last turn of the others ended.
-- current_virtual_time(), enter_turns(name): write_stands() tells whether it was not there, leave_turns(name, finish): finish where it is known.
-- Needs: lib/group/state, lib/group/stands.
local function current_virtual_time()
  virtual_time = virtual_time or tonumber(redis.call('HGET', group_keys.settings, 'virtual_time') or nil) or 0
  return virtual_time
end

-- An idle group has no credit: it starts now, or where its last turn ended if that is later.
local function enter_turns(name)
  local finish = tonumber(score_in(group_keys.finishes, name) or nil) or 0
  enter_stand(group_keys.turns, name, stand_text(math.max(current_virtual_time(), finish)))
  leave_stand(group_keys.finishes, name)
end

local function leave_turns(name, finish)
  finish = finish or score_in(group_keys.turns, name)
  if finish then
    leave_stand(group_keys.turns, name)
    if tonumber(finish) > current_virtual_time() then
      write_stand(group_keys.finishes, name, finish)
    end
  end
end
