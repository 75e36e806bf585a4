#!lua flags=allow-oom
-- Deletes dead letters permanently, and frees the unique keys that they hold for a time.
-- Transition: discard
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each dead letter: id, time of its failure in ms
--   A job that has failed again since is spared; '' spares none.
-- Returns how many were deleted. Other ids are skipped. Repeated: 0.
--@include lib/core/keys
--@include lib/core/count
--@include lib/core/clock
--@include lib/group/place
--@include lib/retention/delete_dead_letter
--@include lib/unique/free_window
--@include lib/stream/forget
local discarded = 0
for i = 1, #ARGV, 2 do
  local id, failed_at = ARGV[i], ARGV[i + 1]
  local found_at = redis.call('ZSCORE', dead, id)
  if found_at and (failed_at == '' or failed_at == found_at) then
    redis.call('ZREM', dead, id)
    redis.call('LREM', failed, 1, id)
    if not is_reused(id) then
      discarded = discarded + 1
      local window, has_stream = unpack(redis.call('HMGET', job .. id, 'window', 'stream'))
      free_window(id, window)
      if has_stream then
        forget_stream(id)
      end
    end
    delete_dead_letter(id)
  end
end
place_groups()
if discarded > 0 then
  count('discarded_total', discarded)
end
return discarded
