-- The sorted sets of groups, as this script has read them and will leave them. Each is read and written once for many
--   groups.
-- sets: turns, gated, finishes, depths, heads; each with its key, the known scores (false: none), and the changes
-- recall(set, names): reads the scores of groups together.
-- score_in(set, name): returns the score of one, false for none.
-- set_score(set, name, score), drop_score(set, name): change it.
-- put_score(set, name, score): changes it without a read; false to leave.
-- add_score(set, name, score): puts it there unless it is there, which need not be known.
-- write_scores(): writes the changes, and returns how many entered. Until then the sets are unchanged.
-- score_text(score): returns a score as text, because a whole number is cheaper to write.
-- Needs: lib/group/ends.
local sets = {}
for kind, key in pairs({ turns = group_keys.turns, gated = group_keys.gated, finishes = group_keys.finishes,
  depths = group_keys.depths, heads = group_keys.heads }) do
  sets[kind] = { key = key, scores = {}, changed = {}, entering = {} }
end

local function score_text(score)
  return string.format(score % 1 == 0 and score < 1e15 and '%d' or '%.17g', score)
end

local function recall(set, names)
  local scores, read = set.scores, redis.call('ZMSCORE', set.key, unpack(names))
  for i = 1, #names do
    if scores[names[i]] == nil then
      scores[names[i]] = read[i]
    end
  end
end

local function score_in(set, name)
  local score = set.scores[name]
  if score == nil then
    score = redis.call('ZSCORE', set.key, name)
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

-- In slices of what one call takes.
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

-- Adds a long member first if many others follow: it turns a small set into a tree, see lib/group/no_group. The caller
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
