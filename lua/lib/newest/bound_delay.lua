-- bound_delay(owner, options): bounds the start of a job that replaces the waiting owner of its unique key. The start is at
--   most unique_max_delay ms behind the first enqueue of the owner. Returns since when that waits.
-- note_wait(owner, since): notes when the wait of a replaced job began, if a claim has ended its first wait.
-- Needs: lib/core/clock, lib/core/keys.
local function bound_delay(owner, options)
  local since, fence, noted = unpack(redis.call('HMGET', job .. owner, 'enqueued_at_ms', 'fence', 'debounce'))
  if fence then
    local begun, of = string.match(noted or '', '^(%d+) (.*)$')
    since = of == fence and begun or now_text
  end
  since = tonumber(since) or now
  options.run_at_ms = math.min(now + options.delay_ms, since + options.unique_max_delay)
  return since
end

local function note_wait(owner, since)
  local fence = redis.call('HGET', job .. owner, 'fence')
  if fence then
    redis.call('HSET', job .. owner, 'debounce', string.format('%.0f %s', since, fence))
  end
end
