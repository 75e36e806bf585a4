-- The scores of groups in sorted sets, and the ends of their turns in a hash. Each is read and written once for many
--   groups.
-- sets: turns, gated, finishes, depths, heads and ends, also in the order in which they are written. Each has its key,
--   the known scores (false: none), and the changes.
--   ends: the end of the last turn of each group that has jobs and no next turn. Its entry in turns is stale, without
--   effect.
-- recall(set, names): reads the scores of groups together. A set that is_empty was read as such.
-- score_in(set, name): returns the score of one, false for none.
-- set_score(set, name, score), drop_score(set, name): change it.
-- put_score(set, name, score): changes it without a read; false to leave.
-- add_score(set, name, score): puts it into a sorted set unless it is there, which need not be known.
-- Until lib/group/write_scores writes the changes, the sets in Redis are as before.
-- Needs: lib/group/state.
--@include lib/group/padding
local sets = {}
for place, kind in ipairs({ 'ends', 'turns', 'gated', 'finishes', 'heads', 'depths' }) do
  local set = { key = group_keys[kind], is_hash = kind == 'ends', scores = {}, changed = {}, entering = {} }
  sets[kind], sets[place] = set, set
end

local function recall(set, names)
  local scores = set.scores
  local read = set.is_hash and redis.call('HMGET', set.key, unpack(names)) or redis.call('ZMSCORE', set.key, unpack(names))
  for i = 1, #names do
    if scores[names[i]] == nil then
      scores[names[i]] = read[i]
    end
  end
end

local function score_in(set, name)
  local score = set.scores[name]
  if score == nil then
    score = not set.is_empty
      and (set.is_hash and redis.call('HGET', set.key, name) or not set.is_hash and redis.call('ZSCORE', set.key, name))
    set.scores[name] = score
  end
  return score
end

local function put_score(set, name, score)
  set.scores[name], set.changed[name] = score, true
end

local function set_score(set, name, score)
  local former = score_in(set, name)
  if former ~= score and tonumber(former or nil) ~= tonumber(score) then
    put_score(set, name, score)
  end
end

local function drop_score(set, name)
  if score_in(set, name) then
    put_score(set, name, false)
  end
end

local function add_score(set, name, score)
  if not set.scores[name] then
    set.scores[name], set.entering[name] = score, score
  end
end
