#!lua flags=no-writes,allow-oom
-- Returns which keys of many queues exist. Queues without any of them share one EXISTS.
-- KEYS: the keys of the first queue, then as many of the next, and so on
-- ARGV[1] how many keys each queue has
-- Returns now in ms, then for each queue with at least one of the keys: its position from 1, and '1' or '0' for each key.
-- Repeated: looks again.
--@include lib/core/clock
local keys, width = KEYS, tonumber(ARGV[1])
local reply = { now }

local function exist(first, last)
  return redis.call('EXISTS', unpack(keys, first, last)) > 0
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
    found[#found + 1] = exist(key, key) and '1' or '0'
  end
  reply[#reply + 1], reply[#reply + 2] = first, table.concat(found)
end

look(1, #keys / width)
return reply
