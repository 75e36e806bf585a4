-- job_ended(id, batch, dependents, status, detail): reports the end of a job to its batch and to its dependents. The
--   script that ends the job calls it. Returns true if the outbox got something for another queue. This
--   is the end of a remote member, the end for a job that waits there, or a follow-up.
-- batch, dependents: these fields of its hash.
-- status: completed, failed, cancelled or removed.
-- detail: its result as JSON, or the reason of its failure; '' for none.
--@include lib/enqueue/options
--@include lib/batch/end_member
--@include lib/after/dependents
local function job_ended(id, batch, dependents, status, detail)
  local is_posted = batch and end_member(id, batch, status, detail)
  if dependents then
    update_dependents(dependents, id, status)
  end
  return is_posted or dependents and string.find(dependents, '\t', 1, true) ~= nil
end
