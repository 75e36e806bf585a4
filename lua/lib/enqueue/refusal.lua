-- enqueue_refusal(id, options): why a new job has its whole enqueue refused, and about what; nil where all is well: refused, the
-- ms until its start, which are not fewer than those until it expires; or what refusal_of says of its batch and its after.
-- options: false for none. A job that is known is a repeat, which was in order at first. Needs: job, now, lib/batch/join.
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
  local starts_in_ms = expires_first(id, options)
  if starts_in_ms then
    return 'refused', starts_in_ms
  end
  if options.batch or options.after then
    return refusal_of(id, options)
  end
end
