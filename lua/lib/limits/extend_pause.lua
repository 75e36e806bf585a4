-- extend_pause(key, known, for_ms): gives the pause in the hash `key` a later end, if `known` is its end in ms. Returns 1.
--   Else 0: the pause is over, has no end or another one, or would end earlier.
-- Needs: lib/core/clock.
local function extend_pause(key, known, for_ms)
  local before, ends = tonumber(known), now + tonumber(for_ms)
  if tonumber(redis.call('HGET', key, 'paused_until_ms') or nil) ~= before or before <= now or ends < before then
    return 0
  end
  redis.call('HSET', key, 'paused_until_ms', string.format('%d', ends))
  return 1
end
