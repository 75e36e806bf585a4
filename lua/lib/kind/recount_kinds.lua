-- recount_kinds(most): counts the kinds of error again if they count more jobs than there are dead letters. Hashes that
--   another program deleted stay in the counts until then. Does nothing with more than `most` dead letters.
-- Needs: lib/core/keys.
local function recount_kinds(most)
  local kinds = redis.pcall('HLEN', error_kinds)
  if type(kinds) == 'number' and kinds > 1000 then
    redis.call('UNLINK', error_kinds) -- a hundred and one are written; another program wrote the rest
    return
  end
  local records, total, found = redis.pcall('HGETALL', error_kinds), 0, {}
  for i = 2, #records, 2 do
    if #records[i] + #records[i - 1] > 4096 then -- another program wrote it
      redis.call('HDEL', error_kinds, records[i - 1])
      return
    end
    total = total + (tonumber(string.match(records[i], '^%d+')) or 1)
  end
  local letters = redis.call('ZCARD', dead)
  if total <= letters or letters > most then
    return
  end
  for _, id in ipairs(redis.call('ZRANGE', dead, 0, -1)) do
    local kind = redis.pcall('HGET', job .. id, 'error_kind')
    if type(kind) == 'string' then
      found[kind] = (found[kind] or 0) + 1
    end
  end
  for i = 1, #records, 2 do
    local kind, count = records[i], found[records[i]]
    if count then
      redis.call('HSET', error_kinds, kind, (string.gsub(records[i + 1], '^%d+', tostring(count))))
    else
      redis.call('HDEL', error_kinds, kind)
    end
  end
end
