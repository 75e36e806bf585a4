-- Keeps the records of completed jobs that others wait to read. Not a function: see lua/attempt/complete.
-- Needs: kept.
--@include lib/kept/keep_record
for _, id in ipairs(kept) do
  keep_record(id)
end
