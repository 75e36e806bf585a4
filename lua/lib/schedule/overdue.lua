-- overdue_since(id, due): returns the due time that has passed without a run of a schedule. Nil if none has passed, or it
--   is paused. `due`: its score, +inf while it rests.
-- Needs: lib/core/clock, lib/core/keys.
local function overdue_since(id, due)
  local at = tonumber(due or nil)
  if at == math.huge then
    local rested, paused = unpack(redis.call('HMGET', schedule .. id, 'rested_due_ms', 'paused_at_ms'))
    at = not paused and tonumber(rested or nil) or nil
  end
  return at and at <= now and at or nil
end
