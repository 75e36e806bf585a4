-- job_ended(id, batch, dependents, status, detail): reports the end of a job to its batch and to its dependents. The
--   script that ends the job calls it.
-- batch, dependents: these fields of its hash.
-- status: completed, failed, cancelled or removed.
-- detail: its result as JSON, or the reason of its failure; '' for none.
--@include lib/enqueue/options
--@include lib/batch/end_member
--@include lib/batch/dependents
local function job_ended(id, batch, dependents, status, detail)
  if batch then
    end_member(id, batch, status, detail)
  end
  if dependents then
    update_dependents(dependents, id, status)
  end
end
