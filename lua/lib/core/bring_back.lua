-- bring_back(set, latest, score, limit): gives the members of a sorted set beyond `latest` this score, up to `limit` of
--   them. The clock of now cannot have made their score: it was ahead for a while.
local function bring_back(set, latest, score, limit)
  local ahead = redis.call('ZRANGE', set, '+inf', '(' .. string.format('%.0f', latest), 'BYSCORE', 'REV', 'LIMIT', 0, limit)
  for _, member in ipairs(ahead) do
    redis.call('ZADD', set, string.format('%.0f', score), member)
  end
end
