-- queue_settings(): returns the bounds of the queue that were set at run time, and whether it has groups. One read for a call;
--   for a key of a wrong type the error.
-- Needs: settings.
local known_settings = nil

local function queue_settings()
  known_settings = known_settings or redis.pcall('HMGET', settings, 'max_pending', 'max_pending_bytes', 'has_groups')
  return known_settings
end
