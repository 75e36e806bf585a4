-- cut_history(list, length, added, cap): cuts a history of that length to which ids were added. A finished hash whose id
--   leaves the history lives evicted_ttl more. XX spares a hash without a TTL: a dead letter, or an id in use again. If a
--   job with the same id has ended since, its hash also lives only that long. The next sweep removes its old place, and
--   ends this. Avoiding it would cost each job a read. The cut is bounded, so a lower cap takes effect over several
--   calls.
-- Needs: evicted_ttl, job, lib/core/clock.
local function cut_history(list, length, added, cap)
  local excess = math.min(length - cap, 2 * added + 100)
  if excess > 0 then
    local evicted_until = string.format('%d', now + evicted_ttl)
    for _, id in ipairs(redis.call('RPOP', list, string.format('%d', excess))) do
      redis.call('PEXPIREAT', job .. id, evicted_until, 'XX', 'LT')
    end
  end
end
