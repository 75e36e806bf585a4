-- write_scores(): writes the changes of lib/group/scores, in slices of what one call takes. Returns how many groups entered
--   a set.
-- Needs: lib/group/padding, lib/group/scores.
local function add_to(set, ...)
  return set.is_hash and redis.call('HSET', set.key, ...) or redis.call('ZADD', set.key, ...)
end

local function remove_from(set, ...)
  return set.is_hash and redis.call('HDEL', set.key, ...) or redis.call('ZREM', set.key, ...)
end

local function in_slices(write, set, values)
  for i = 1, #values, 1000 do
    write(set, unpack(values, i, math.min(i + 999, #values)))
  end
end

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
  if a >= 16 then
    add_to(set, set.is_hash and padding or '0', set.is_hash and '' or padding)
    removed[r + 1] = padding
  end
  in_slices(add_to, set, added)
  in_slices(remove_from, set, removed)
  set.changed = {}
end

local function write_entering(set)
  local added, a, entered = {}, 0, 0
  for name, score in pairs(set.entering) do
    added[a + 1], added[a + 2], a = score, name, a + 2
  end
  set.entering = {}
  if a >= 16 then
    redis.call('ZADD', set.key, '0', padding)
  end
  for i = 1, a, 1000 do
    entered = entered + redis.call('ZADD', set.key, 'NX', unpack(added, i, math.min(i + 999, a)))
  end
  if a >= 16 then
    redis.call('ZREM', set.key, padding)
  end
  return entered
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
