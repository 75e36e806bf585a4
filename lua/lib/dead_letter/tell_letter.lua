-- tell_letter(id, from): notes in a dead letter that its new job has completed. So it is never redriven again. That dead
--   letter may have been such a job itself, so the one before it learns of it too.
-- from: the field redriven_from of the completed job.
-- Needs: job, lib/core/clock.
local most_letters = 100

local function tell_letter(id, from)
  for _ = 1, most_letters do
    local as, before = unpack(redis.pcall('HMGET', job .. from, 'redriven_as', 'redriven_from'))
    if as ~= id then
      return
    end
    redis.call('HSET', job .. from, 'redriven_completed_at_ms', now_text)
    if not before then
      return
    end
    id, from = from, before
  end
end
