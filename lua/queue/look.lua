#!lua flags=no-writes,allow-oom,allow-cross-slot-keys
-- Returns which keys of many queues exist. Queues without any of them share one EXISTS, but in a Cluster each has its own.
-- KEYS: the keys of the first queue, then as many of the next, and so on; in a Cluster see lib/slots/take_keys
-- ARGV[1] how many keys each queue has
-- ARGV[2] which of them, from 1, has the scheduled jobs and is asked for a due one; '' for none
-- Returns now in ms, then for each queue with at least one of the keys: its position from 1, and '1' or '0' for each key.
--   For the scheduled jobs '1' if one is due, '2' if all are due later.
-- Repeated: looks again.
--@include lib/core/clock
local keys, width, scheduled_column = KEYS, tonumber(ARGV[1]), tonumber(ARGV[2])
--@cluster lib/slots/take_keys
local reply = { now }

local function exist(first, last)
  return redis.call('EXISTS', unpack(keys, first, last)) > 0
end

-- Returns '2' for scheduled jobs without a due one. A wrong type counts as due, so that a claim names it.
local function state_of(key, column)
  if not exist(key, key) then
    return '0'
  end
  return column == scheduled_column and redis.pcall('ZCOUNT', keys[key], '-inf', now_text) == 0 and '2' or '1'
end

-- Looks at some queues, and then at each half of them, until it knows which have a key.
local function look(first, last)
  local first_key, last_key = (first - 1) * width + 1, last * width
  if not exist(first_key, last_key) then
    return
  end
  if first < last then
    local middle = math.floor((first + last) / 2)
    look(first, middle)
    return look(middle + 1, last)
  end
  local found = {}
  for key = first_key, last_key do
    found[#found + 1] = state_of(key, #found + 1)
  end
  reply[#reply + 1], reply[#reply + 2] = first, table.concat(found)
end

--@cluster lib/slots/look_apart
look(1, #keys / width)
return reply
