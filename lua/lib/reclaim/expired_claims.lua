-- expired_claims(limit): returns up to `limit` expired claims, those of running jobs first. Then come the claims whose end
--   broke off halfway, and whether more may be left.
-- close_ended(ended): removes these claims. One stays where the keys of its end are still to be repaired.
-- Needs: broken_ms, lib/core/clock, lib/core/keys, lib/core/read, lib/group/slot, lib/settle/finish_broken_end.
--@include lib/reclaim/is_filler
--@include lib/settle/set_aside
local function expired_claims(limit)
  -- Goes from the latest expiry on. So the first claimed job is put to the front last, also across slices.
  local expired = redis.call('ZRANGE', claims, now, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, limit)
  local taken, ended = {}, {}
  for _, id in ipairs(without_long(expired, claims)) do
    local status, fence, group = unpack(read(job .. id, 'status', 'fence', 'group'))
    if not status and is_filler(id) then
      redis.call('ZREM', claims, id)
    elseif status == 'processing' or not status then -- a missing hash leaves a dead letter with that reason
      taken[#taken + 1] = { id = id, fence = tonumber(fence) or 0 }
    else
      if group then
        free_slot(group, id)
      end
      ended[#ended + 1] = { id = id, status = status, is_finished = finish_broken_end(id, status) }
    end
  end
  return taken, ended, #expired == limit
end

local function close_ended(ended)
  for _, claim in ipairs(ended) do
    if claim.is_finished and close_end(claim.id, claim.status) then
      redis.call('ZREM', claims, claim.id)
    else
      redis.call('ZADD', claims, now + broken_ms, claim.id)
    end
  end
end
