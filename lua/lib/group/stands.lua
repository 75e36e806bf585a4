-- The sorted sets of groups, as this script has read them and as it is to leave them: each is read and written once for many groups.
-- recall(set, names): reads the scores of groups together. score_in(set, name): the score of one, false for none.
-- stand_in(set, name, score), leave_stand(set, name): change it. write_stand(set, name, score): the same without a look, false to leave.
-- write_stands(): writes what has changed; until then the sets are as they were.
local scores_of, changed_in = {}, {}

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

local function write_stands()
  for set, names in pairs(changed_in) do
    local added, removed = {}, {}
    for name in pairs(names) do
      local score = scores_of[set][name]
      if score then
        added[#added + 1], added[#added + 2] = score, name
      else
        removed[#removed + 1] = name
      end
    end
    for i = 1, #removed, 1000 do
      redis.call('ZREM', set, unpack(removed, i, math.min(i + 999, #removed)))
    end
    for i = 1, #added, 1000 do
      redis.call('ZADD', set, unpack(added, i, math.min(i + 999, #added)))
    end
  end
  changed_in = {}
end
