-- ended_as(id): returns how the job of a remembered id ended: completed or cancelled. Its record may be gone.
-- Needs: ended_ids, lib/core/clock.
--@include lib/ids/mark_of
local function ended_as(id)
  local score = tonumber(redis.call('ZSCORE', ended_ids, mark_of(id)) or nil)
  if score and score > now then
    return score % 2 == 0 and 'completed' or 'cancelled'
  end
end
