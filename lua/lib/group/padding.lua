-- How scores of many groups are written cheaply.
-- add_many(key, option, values): adds scores and groups to a sorted set, with the option NX or CH of ZADD. Adds fields and
--   values to a hash if option is nil. Returns how many were new, with CH how many it changed. One call takes a slice.
-- score_text(score): returns a score as text, because a whole number is cheaper to write.
-- Redis keeps a small set or hash as a list, and each change walks through it. A member of more than 64 bytes turns it into
-- a tree or a table. So add_many adds such a member before the others, and removes it again. A group's name is shorter.
local function add_many(key, option, values)
  local n, added, first = #values, 0, 1
  if n >= 16 then
    local padding, last = string.rep('-', 257), math.min(1000, n)
    added = option and redis.call('ZADD', key, option, '0', padding, unpack(values, 1, last))
      or redis.call('HSET', key, padding, '', unpack(values, 1, last))
    redis.call(option and 'ZREM' or 'HDEL', key, padding)
    added, first = added - 1, last + 1
  end
  for i = first, n, 1000 do
    local last = math.min(i + 999, n)
    added = added + (option and redis.call('ZADD', key, option, unpack(values, i, last)) or redis.call('HSET', key, unpack(values, i, last)))
  end
  return added
end

local function score_text(score)
  return string.format(score % 1 == 0 and score < 1e15 and '%d' or '%.17g', score)
end
