#!lua flags=no-writes,allow-oom
-- Returns one page of the groups with waiting or running jobs, or some groups by name, even without jobs.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] order: depth (most jobs first), age (oldest head first; only groups with waiting jobs) or name
-- ARGV[2] offset
-- ARGV[3] the most to return
-- ARGV[4..] for name: the names
-- Returns now in ms, then for each group, with '' for none:
--   name, waiting jobs, running jobs, since when its head is claimable in ms, paused_at_ms, the id of the job that holds
--     it
--   when its rate or rest lets the next job start in ms
--   its own settings in the order of lua/group/set.lua
--   who paused it, why, and until when in ms.
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/group/place
local order, offset, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local shown, rows = {}, { now_text }
if order == 'depth' then
  shown = redis.call('ZRANGE', group_keys.depths, offset, offset + limit - 1, 'REV')
elseif order == 'age' then
  shown = redis.call('ZRANGE', group_keys.heads, offset, offset + limit - 1)
else
  for i = 4, #ARGV do
    shown[#shown + 1] = ARGV[i]
  end
end

local function add(...)
  for _, value in ipairs({ ... }) do
    rows[#rows + 1] = value
  end
end

for _, name in ipairs(shown) do
  local group, head = read_group(name), redis.call('ZRANGE', groups .. 'waiting:' .. name, 0, 0)[1]
  local ready_at, enqueued_at = unpack(redis.call('HMGET', job .. (head or ''), 'ready_at_ms', 'enqueued_at_ms'))
  local opens = opens_at(group, 1)
  local own = redis.call('HMGET', groups .. 'state:' .. name, 'max_running', 'rate_limit', 'rate_period_ms', 'rate_burst', 'weight',
    'max_pending', 'on_dead_head', 'plain_weight', 'max_pending_bytes', 'paused_by', 'pause_reason', 'paused_until_ms', 'paused_at_ms')
  if (tonumber(own[12] or nil) or math.huge) <= now then
    own[10], own[11], own[12], own[13] = '', '', '', '' -- its time is over
  end
  add(name, redis.call('ZCARD', groups .. 'waiting:' .. name), redis.call('ZCARD', groups .. 'running:' .. name),
    head and (ready_at or enqueued_at) or '', own[13] or '', group.hold or '', opens and string.format('%.0f', opens) or '')
  for i = 1, 12 do
    add(own[i] or '')
  end
end
return rows
