-- write_scores(): writes the changes of lib/group/scores and lib/group/ends. Returns how many groups entered a set.
-- remove_all(key, names): removes members from a sorted set.
-- In slices of what one call takes.
-- Needs: lib/group/ends, lib/group/scores.
local function remove_all(key, names)
  for i = 1, #names, 1000 do
    redis.call('ZREM', key, unpack(names, i, math.min(i + 999, #names)))
  end
end

local function add_all(key, scored)
  for i = 1, #scored, 1000 do
    redis.call('ZADD', key, unpack(scored, i, math.min(i + 999, #scored)))
  end
end

local function add_new(key, scored)
  local added = 0
  for i = 1, #scored, 1000 do
    added = added + redis.call('ZADD', key, 'NX', unpack(scored, i, math.min(i + 999, #scored)))
  end
  return added
end

-- Adds a long member first if many others follow: it turns a small set into a tree, see lib/turn/no_group. The caller
-- removes it again.
local function spread(added, a)
  if a < 16 then
    return false
  end
  added[a + 1], added[a + 2], added[1], added[2] = added[1], added[2], '0', long_name
  return true
end

local function write_changes(set)
  local added, removed, a, r = {}, {}, 0, 0
  for name in pairs(set.changed) do
    local score = set.scores[name]
    if score then
      added[a + 1], added[a + 2], a = score, name, a + 2
    else
      r = r + 1
      removed[r] = name
    end
  end
  if spread(added, a) then
    removed[r + 1] = long_name
  end
  add_all(set.key, added)
  remove_all(set.key, removed)
  set.changed = {}
end

local function write_entering(set)
  local added, a = {}, 0
  for name, score in pairs(set.entering) do
    added[a + 1], added[a + 2], a = score, name, a + 2
  end
  set.entering = {}
  if not spread(added, a) then
    return add_new(set.key, added)
  end
  local entered = add_new(set.key, added)
  redis.call('ZREM', set.key, long_name)
  return entered - 1
end

local function write_scores()
  local entered = 0
  for _, set in pairs(sets) do
    if next(set.entering) then
      entered = entered + write_entering(set)
    end
    if next(set.changed) then
      write_changes(set)
    end
  end
  write_ends()
  return entered
end
