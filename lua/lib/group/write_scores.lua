-- write_scores(): writes the changes of lib/group/scores. Returns how many groups entered a set.
-- Needs: lib/group/padding, lib/group/scores.
local function write_changes(set)
  local added, removed, a, r = {}, {}, 0, 0
  for name in pairs(set.changed) do
    local score = set.scores[name]
    if score then
      added[a + 1], added[a + 2], a = set.is_hash and name or score, set.is_hash and score or name, a + 2
    else
      removed[r + 1], r = name, r + 1
    end
  end
  add_many(set.key, not set.is_hash and 'CH' or nil, added)
  for i = 1, r, 1000 do
    redis.call(set.is_hash and 'HDEL' or 'ZREM', set.key, unpack(removed, i, math.min(i + 999, r)))
  end
  set.changed = {}
end

local function write_entering(set)
  local added, a = {}, 0
  for name, score in pairs(set.entering) do
    added[a + 1], added[a + 2], a = score, name, a + 2
  end
  set.entering = {}
  return add_many(set.key, 'NX', added)
end

local function write_scores()
  local entered = 0
  for _, set in ipairs(sets) do
    if next(set.entering) then
      entered = entered + write_entering(set)
    end
    if next(set.changed) then
      write_changes(set)
    end
  end
  return entered
end
