-- The store of one key of a limit, see docs/internals/limits.md, "Keys". Its name has the limit, # and the key.
-- is_key: whether the limit of this call is such a store.
-- keep_key(ms): lets it live for at least this long, and as long as its rates matter. Values that somebody set, and a pause, live
--   for as long as a limit remembers its queues. A limit itself has no end.
-- Needs: limit, permits, rates, seen, waiting.
--@include lib/core/now_us
--@include lib/shared_limit/longest_use
--@include lib/shared_limit/most_rates
local is_key = string.find(limit, '^[^{]*{[^#]*#') ~= nil

local function keep_key(ms)
  if not is_key then
    return
  end
  local is_set, paused_at, count = unpack(redis.call('HMGET', limit, 'set', 'paused_at_ms', 'rates'))
  ms = math.max(ms, (is_set or paused_at) and longest_use_ms or 0, redis.call('PTTL', limit))
  local kept = { limit, permits, waiting, seen }
  for i = 1, math.min(tonumber(count or nil) or 0, most_rates) do
    local tat = tonumber(redis.call('HGET', rates .. i, 'rate_tat_us') or nil) or 0
    ms = math.max(ms, math.ceil((tat - now_us) / 1000))
    kept[#kept + 1] = rates .. i
  end
  for _, key in ipairs(kept) do
    redis.call('PEXPIRE', key, string.format('%.0f', ms))
  end
end
