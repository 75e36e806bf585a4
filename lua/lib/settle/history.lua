-- add_to_history(list, ids, cap): puts ids on a capped history, newest first. A finished hash whose id falls off lives
-- evicted_ttl more; XX spares a hash without a TTL (a dead letter, or an id that is in use again). Where a job with the
-- same id has ended since, and the sweep has not come to its old place, it lives only so long too: to know it here would
-- cost every job a look.
-- The cut is bounded, so a cap that was lowered takes effect over several calls. Needs: job, evicted_ttl, now.
local function add_to_history(list, ids, cap)
  if #ids == 0 then
    return
  end
  local length = redis.call('LPUSH', list, unpack(ids))
  local excess = math.min(length - cap, 2 * #ids + 100)
  if excess > 0 then
    local fallen_until = string.format('%d', now + evicted_ttl)
    for _, id in ipairs(redis.call('RPOP', list, string.format('%d', excess))) do
      redis.call('PEXPIREAT', job .. id, fallen_until, 'XX', 'LT')
    end
  end
end
