-- Ends what completed jobs held: their slots, the claims, and their hashes' lives. Adds them to the history. It is not a
--   function, because a function would bind its outside variables.
-- Needs: claims, completed, completed_history, done, done_count, done_keys, grouped, kept, kept_until_of, left_groups,
--   owned, settings, wake, lib/retention/cut_history.
if wake and (not settings or redis.call('HEXISTS', settings, 'max_running') == 1) then
  -- A slot is free.
--@include lib/core/wake
end
if left_groups then
  -- Included here, since a job without a group pays nothing for it.
--@include lib/turn/free_single_slot
  local others = free_single_slot(grouped, left_groups)
  if others[1] then
--@include lib/group/place
    for _, name in ipairs(others) do
      touched_groups[name] = only_slot
    end
    place_groups()
  end
end
if owned then -- before the history, because a reclaim finishes an end that is not in it
--@include lib/complete/remember_ids
end
local ids, length = done, nil
--@include lib/settle/count_completed
redis.call('ZREM', claims, unpack(done)) -- after all that may break off, because a reclaim finds the rest by the claims
for i = 1, done_count do
  redis.call('PEXPIREAT', done_keys[i], kept_until_of[i]) -- a past instant deletes the hash at once
end
if kept then
--@include lib/complete/keep_records
end
cut_history(completed, length, done_count, completed_history)
