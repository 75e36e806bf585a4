-- The numbers of waiting jobs in a group and in all groups. Also the place of its first job in the order of arrival.
-- note_depth(name, depth, running): writes how many wait in its line. running: jobs in its slots
-- note_head(name, rank): writes the place of its first job; nil for none.
-- count_waiting(): writes how many wait in all, once in a script, after the last note_depth. A claim of many groups
--   notes the heads of some. So a busy group may be before its place in heads, for some of its turns.
-- Needs: lib/group/scores, lib/group/state.
local waiting_change = 0

local function note_depth(name, depth, running)
  local before = tonumber(score_in(sets.depths, name) or nil) or 0
  waiting_change = waiting_change + depth - before
  if depth + running == 0 then
    drop_score(sets.depths, name)
  elseif depth ~= before or not sets.depths.scores[name] then
    put_score(sets.depths, name, string.format('%d', depth))
  end
end

local function note_head(name, rank)
  put_score(sets.heads, name, rank and string.format('%d', tonumber(rank) % 2 ^ 40))
end

local function count_waiting()
  if waiting_change ~= 0 then
    redis.call('HINCRBY', group_keys.settings, 'waiting', string.format('%d', waiting_change))
    waiting_change = 0
  end
end
