-- The sorted sets of groups, as this script has read them and will leave them. Each is read and written once for many
--   groups.
-- sets: turns, gated, finishes, depths, heads; each with its key, the known scores (false: none), and the changes
-- recall(set, names): reads the scores of groups together.
-- score_in(set, name): returns the score of one, false for none.
-- set_score(set, name, score), drop_score(set, name): change it.
-- put_score(set, name, score): changes it without a read; false to leave.
-- add_score(set, name, score): puts it there unless it is there, which need not be known.
-- Until lib/group/write_scores writes the changes, the sets in Redis are as before.
-- score_text(score): returns a score as text, because a whole number is cheaper to write.
-- Needs: lib/group/state.
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
