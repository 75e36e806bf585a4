-- Gives the job that is about to be claimed a short id, if its id is too long. Its status then lets the claim refuse it. It is
--   not a function, because a function would bind its outside variables.
-- Needs: ids, lib/settle/claim_ids.
do
--@include lib/settle/give_short_id
  local short = string.format('@oversized:%d', fence + 1)
  give_short_id(id, short)
  id, ids[place] = short, short
end
