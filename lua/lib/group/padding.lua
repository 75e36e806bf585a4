-- How scores of many groups are written cheaply.
-- add_many(key, option, values): adds scores and groups to a sorted set, with the option NX or CH of ZADD. Adds fields and
--   values to a hash if option is nil. Returns how many were new, with CH how many it changed. One call takes a slice.
-- score_text(score): returns a score as text, because a whole number is cheaper to write.
-- Redis keeps a small set or hash as a list, and each change walks through it. A member of more than 64 bytes turns it into
-- a tree or a table. So add_many first adds such a member, and removes it at the end. A group's name is shorter.
local function add_many(key, option, values)
  local n, added, padding = #values, 0, #values >= 16 and string.rep('-', 257)
  if padding then
    redis.call(option and 'ZADD' or 'HSET', key, option and '0' or padding, option and padding or '')
  end
  for i = 1, n, 1000 do
    local last = math.min(i + 999, n)
    added = added + (option and redis.call('ZADD', key, option, unpack(values, i, last)) or redis.call('HSET', key, unpack(values, i, last)))
  end
  if padding then
    redis.call(option and 'ZREM' or 'HDEL', key, padding)
  end
  return added
end

local function score_text(score)
  return string.format(score % 1 == 0 and score < 1e15 and '%d' or '%.17g', score)
end
