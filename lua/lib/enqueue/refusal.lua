-- enqueue_refusal(id, options): returns why a new job refuses its whole enqueue, or nil.
-- The reason is the ms until its start if it would expire before that. Or it is the reply of refusal_of for its batch
-- and its after. A known job is a repeat, which passed this check before.
-- options: false for none.
-- Needs: job, lib/batch/refusal, lib/core/clock.
local function expires_first(id, options)
  local starts_in_ms = options.run_at_ms and options.expires_in_ms and options.run_at_ms - now
  if starts_in_ms and starts_in_ms >= options.expires_in_ms and redis.call('EXISTS', job .. id) == 0 then
    return starts_in_ms
  end
end

local function enqueue_refusal(id, options)
  if not options then
    return nil
  end
  local starts_in_ms = options.run_at_ms and expires_first(id, options)
  if starts_in_ms then
    return 'refused', starts_in_ms
  end
  if options.batch or options.after then
    return refusal_of(id, options)
  end
end
