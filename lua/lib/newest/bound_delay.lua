-- bound_delay(options): bounds the start of a job that may replace the owner of its unique key. The start is at most
--   unique_max_delay ms behind the first enqueue of that owner. Returns the owner and since when it waits, or nil.
-- note_wait(owner, since): notes when the wait of a replaced job began, if a claim has ended its first wait.
-- Needs: lib/core/clock, lib/core/keys, lib/unique/owner.
local function bound_delay(options)
  local verdict, owner = resolve_unique(options)
  if verdict ~= 'replace' then
    return
  end
  local since, fence, noted = unpack(redis.call('HMGET', job .. owner, 'enqueued_at_ms', 'fence', 'debounce'))
  if fence then
    local begun, of = string.match(noted or '', '^(%d+) (.*)$')
    since = of == fence and begun or now_text
  end
  since = tonumber(since) or now
  options.run_at_ms = math.min(now + options.delay_ms, since + options.unique_max_delay)
  return owner, since
end

local function note_wait(owner, since)
  local fence = redis.call('HGET', job .. owner, 'fence')
  if fence then
    redis.call('HSET', job .. owner, 'debounce', string.format('%.0f %s', since, fence))
  end
end
