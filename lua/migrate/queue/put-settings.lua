#!lua
-- Copies the settings of a queue that moves to its new place, where it has none. These are limits, spent rates and
--   pauses of groups. It also copies ids of ended jobs, and unique keys that are held for a time.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] kind     announced (what workers and producers said), queue, groups (the settings of all groups), group, ended or unique
-- ARGV[2] name     of the group, else ''
-- ARGV[3] until    when the group may be forgotten, in ms; else ''
-- ARGV[4..] pairs  field and value; of ended a mark and its score; of unique a key, and its owner, a tab and the end in ms
-- Returns 1 if something was written, else 0.
-- Repeated: 0.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/group/place
--@include lib/unique/owner
local kind, name, until_ms = ARGV[1], ARGV[2], ARGV[3]
local state = groups .. 'state:' .. name
local written = 0

local function write(key)
  for i = 4, #ARGV, 2 do
    written = written + redis.call('HSETNX', key, ARGV[i], ARGV[i + 1])
  end
end

-- Limits that an operator set, or that workers announced, stay.
local function has_limits()
  local is_set, text = unpack(redis.call('HMGET', settings, 'limits_set', 'limits_text'))
  return is_set or text
end

local function note_unique(key, owner, held_until)
  if not resolve_unique({ unique = key }) and tonumber(held_until) > now then
    redis.call('HSET', unique, key, owner)
    redis.call('ZADD', unique_expiries, held_until, key)
    note_window(tonumber(held_until) - now)
    written = 1
  end
end

if kind == 'announced' then
  write(sweep)
elseif kind == 'queue' and not has_limits() then
  write(settings)
elseif kind == 'groups' and redis.call('EXISTS', groups .. 'settings') == 0 then
  write(groups .. 'settings')
elseif kind == 'group' and redis.call('EXISTS', state) == 0 then
  mark_state(name)
  write(state)
  if until_ms ~= '' then
    redis.call('ZADD', groups .. 'resting', 'GT', until_ms, name)
  end
  touch(name)
elseif kind == 'ended' then
  for i = 4, #ARGV, 2 do
    written = written + redis.call('ZADD', ended_ids, 'NX', ARGV[i + 1], ARGV[i])
  end
elseif kind == 'unique' then
  for i = 4, #ARGV, 2 do
    note_unique(ARGV[i], string.match(ARGV[i + 1], '^(.*)\t(%d+)$'))
  end
end
place_groups()
return written > 0 and 1 or 0
