-- new_job_of(id): returns the id of the job as which a dead letter was redriven. Returns it while that job is known, and
--   for good once it has completed. Another redrive would do its work twice.
-- Needs: lib/core/keys, lib/core/read.
local function new_job_of(id)
  local new_id, has_completed = unpack(read(job .. id, 'redriven_as', 'redriven_completed_at_ms'))
  return new_id and (has_completed or redis.call('EXISTS', job .. new_id) == 1) and new_id
end
