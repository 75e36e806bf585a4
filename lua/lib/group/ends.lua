-- ends: a hash with the end of the last turn of each group that has jobs and no next turn. The entry of a group in
--   turns is stale and has no effect.
-- recall_ends(names): reads the ends of groups together.
-- turn_end_of(name): returns that of one group; false for none.
-- write_end(name, finish): changes it; false to forget it.
-- write_ends(): writes the changes.
-- Needs: lib/group/state.
local ends, changed_ends = {}, {}
local long_name = string.rep('-', 257) -- no group's, see lib/turn/no_group

local function recall_ends(names)
  local read = redis.call('HMGET', group_keys.ends, unpack(names))
  for i = 1, #names do
    if ends[names[i]] == nil then
      ends[names[i]] = read[i]
    end
  end
end

local function turn_end_of(name)
  if ends[name] == nil then
    ends[name] = redis.call('HGET', group_keys.ends, name)
  end
  return ends[name]
end

local function write_end(name, finish)
  ends[name], changed_ends[name] = finish, true
end

local function write_ends()
  local written, forgotten, w, f = {}, {}, 0, 0
  for name in pairs(changed_ends) do
    if ends[name] then
      written[w + 1], written[w + 2], w = name, ends[name], w + 2
    else
      f = f + 1
      forgotten[f] = name
    end
  end
  changed_ends = {}
  if w >= 16 then -- the long field comes first
    written[w + 1], written[w + 2], written[1], written[2] = written[1], written[2], long_name, ''
    forgotten[f + 1], w, f = long_name, w + 2, f + 1
  end
  for i = 1, w, 1000 do
    redis.call('HSET', group_keys.ends, unpack(written, i, math.min(i + 999, w)))
  end
  for i = 1, f, 1000 do
    redis.call('HDEL', group_keys.ends, unpack(forgotten, i, math.min(i + 999, f)))
  end
end
