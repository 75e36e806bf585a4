-- The sorted sets of groups, as this script has read them and as it is to leave them: each is read and written once for many groups.
-- recall(set, names): reads the scores of groups together. score_in(set, name): the score of one, false for none.
-- stand_in(set, name, score), leave_stand(set, name): change it. write_stand(set, name, score): the same without a look, false to leave.
-- enter_stand(set, name, score): puts it there unless it stands there; whether it does need not be known.
-- write_stands(): writes what has changed, and returns how many entered; until then the sets are as they were.
-- stand_text(score): a score as text; a whole number is cheaper to write.
local scores_of, changed_in, entering = {}, {}, {}

local function stand_text(score)
  return string.format(score % 1 == 0 and score < 1e15 and '%d' or '%.17g', score)
end

local function recall(set, names)
  local scores = scores_of[set] or {}
  scores_of[set] = scores
  for i, score in ipairs(redis.call('ZMSCORE', set, unpack(names))) do
    if scores[names[i]] == nil then
      scores[names[i]] = score
    end
  end
end

local function score_in(set, name)
  local score = scores_of[set] and scores_of[set][name]
  if score == nil then
    score = redis.call('ZSCORE', set, name)
    scores_of[set] = scores_of[set] or {}
    scores_of[set][name] = score
  end
  return score
end

local function write_stand(set, name, score)
  scores_of[set] = scores_of[set] or {}
  scores_of[set][name] = score
  changed_in[set] = changed_in[set] or {}
  changed_in[set][name] = true
end

local function stand_in(set, name, score)
  if tonumber(score_in(set, name) or nil) ~= tonumber(score) then
    write_stand(set, name, score)
  end
end

local function leave_stand(set, name)
  if score_in(set, name) then
    write_stand(set, name, false)
  end
end

local function enter_stand(set, name, score)
  scores_of[set] = scores_of[set] or {}
  if not scores_of[set][name] then
    scores_of[set][name] = score
    entering[set] = entering[set] or {}
    entering[set][name] = score
  end
end

-- In slices of what one call takes.
local function remove_all(set, names)
  for i = 1, #names, 1000 do
    redis.call('ZREM', set, unpack(names, i, math.min(i + 999, #names)))
  end
end

local function add_all(set, scored)
  for i = 1, #scored, 1000 do
    redis.call('ZADD', set, unpack(scored, i, math.min(i + 999, #scored)))
  end
end

local function add_new(set, scored)
  local added = 0
  for i = 1, #scored, 1000 do
    added = added + redis.call('ZADD', set, 'NX', unpack(scored, i, math.min(i + 999, #scored)))
  end
  return added
end

local function write_changes(set, names)
  local added, removed = {}, {}
  for name in pairs(names) do
    local score = scores_of[set][name]
    if score then
      added[#added + 1], added[#added + 2] = score, name
    else
      removed[#removed + 1] = name
    end
  end
  remove_all(set, removed)
  add_all(set, added)
end

local function write_stands()
  local entered = 0
  for set, scores in pairs(entering) do
    local added = {}
    for name, score in pairs(scores) do
      added[#added + 1], added[#added + 2] = score, name
    end
    entered = entered + add_new(set, added)
  end
  for set, names in pairs(changed_in) do
    write_changes(set, names)
  end
  entering, changed_in = {}, {}
  return entered
end
