-- Counts completed jobs and adds them to the history, or does neither. Its caller removes their claims next. So a
--   completed job that still has its claim is in neither. Puts the length of the history into length. It is not a function,
--   because a function would bind its outside variables.
-- Needs: completed, ids, length, lib/core/count.
count('completed_total', #ids == 1 and '1' or string.format('%d', #ids))
length = redis.pcall('LPUSH', completed, unpack(ids))
if type(length) == 'table' then
  count('completed_total', string.format('-%d', #ids))
  error(length)
end
