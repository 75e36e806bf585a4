-- turns holds the groups that may run, by virtual start time. The end of another group's last turn is in ends while it
--   has jobs. Then it is in finishes until the clock has passed it.
-- current_virtual_time(): returns the current virtual time.
-- enter_turns(name): write_scores() returns whether it was not there.
-- leave_turns(name, finish): finish if it is known.
-- go_idle(name): a group outside turns has no more jobs.
-- Needs: lib/group/padding, lib/group/scores, lib/group/state.
local function current_virtual_time()
  virtual_time = virtual_time or tonumber(redis.call('HGET', group_keys.settings, 'virtual_time') or nil) or 0
  return virtual_time
end

local start_clock, start_text

-- Enters a group. An idle group has no credit: it starts now, or where its last turn ended if that is later.
local function enter_turns(name)
  local finish = score_in(sets.ends, name)
  if not finish then
    finish = score_in(sets.finishes, name)
    drop_score(sets.finishes, name)
  end
  local clock = current_virtual_time()
  if finish and tonumber(finish) > clock then
    return add_score(sets.turns, name, finish)
  end
  if start_clock ~= clock then
    start_clock, start_text = clock, score_text(clock)
  end
  add_score(sets.turns, name, start_text)
end

local function leave_turns(name, finish)
  finish = finish or score_in(sets.turns, name)
  if finish then
    drop_score(sets.turns, name)
    put_score(sets.ends, name, finish)
  end
end

local function go_idle(name)
  local finish = score_in(sets.ends, name)
  if finish then
    put_score(sets.ends, name, false)
    if tonumber(finish) > current_virtual_time() then
      put_score(sets.finishes, name, finish)
    end
  end
end
