-- new_job_of(id): returns the id of the job as which a dead letter was redriven, while that job is known. A dead letter is
--   not redriven beside it, because its work would then be done twice.
-- Needs: lib/core/keys, lib/core/read.
local function new_job_of(id)
  local new_id = read(job .. id, 'redriven_as')[1]
  return new_id and redis.call('EXISTS', job .. new_id) == 1 and new_id
end
