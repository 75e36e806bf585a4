-- The groups that rest because their key of a limit had no free permit, in groups:keyed. The score is the end of that rest. A permit
--   that comes meanwhile ends it. Without a rest the score is when a permit came, for a claim that is refused at that moment.
-- note_keyed(group, at): writes the score.
-- ends_with_permit(group, rests_until): returns whether this rest is one for a permit, and not by a handler.
-- has_permit_come(group, since): returns whether a permit has come since a claim.
-- Needs: lib/core/clock, lib/core/keys.
local keyed, keyed_ms = groups .. 'keyed', 60000

local function note_keyed(group, at)
  redis.call('ZADD', keyed, string.format('%.0f', at), group)
  local over = redis.call('ZRANGE', keyed, '-inf', string.format('%.0f', now - keyed_ms), 'BYSCORE', 'LIMIT', 0, 100)
  if #over > 0 then
    redis.call('ZREM', keyed, unpack(over))
  end
  redis.call('PEXPIRE', keyed, string.format('%.0f', keyed_ms))
end

local function ends_with_permit(group, rests_until)
  return tonumber(redis.call('ZSCORE', keyed, group) or nil) == rests_until
end

local function has_permit_come(group, since)
  local at = tonumber(redis.call('ZSCORE', keyed, group) or nil) or 0
  return at >= since and at <= now
end
