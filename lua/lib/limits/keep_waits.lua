-- keep_waits(): moves the counter of waits from settings to stats, because it never goes back.
-- A queue without limits keeps no settings, so that its claims pay for none.
-- Needs: lib/core/keys.
--@include lib/core/count
local function keep_waits()
  local waits = redis.call('HGET', settings, 'rate_waits')
  if waits then
    count('limited_total', string.format('%d', tonumber(waits) or 0))
    redis.call('HDEL', settings, 'rate_waits')
  end
end
