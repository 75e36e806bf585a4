-- set_aside(id): makes a dead letter, under a short id, of a job whose id is too long. The caller has taken the long id
--   from its place. No library has made such a job, so nothing waits for its end.
-- without_long(ids, set): returns the ids of a slice without those that are too long, which leave the sorted set.
-- Needs: lib/core/clock, lib/core/keys.
--@include lib/settle/give_short_id
--@include lib/core/count
--@include lib/kind/change_kind
local function set_aside(id)
  local short = string.format('@oversized:%d', redis.call('INCR', sequence))
  give_short_id(id, short)
  local reason = string.format('The id of the job has %d bytes, and no id has more than %d. It begins with "%s".', #id, longest_id,
    string.sub(id, 1, 60))
  redis.call('ZADD', dead, now_text, short)
  redis.call('HSET', job .. short, 'status', 'failed', 'claim_token', '', 'failed_at_ms', now_text, 'last_error', reason,
    'last_error_at_ms', now_text)
  change_kind(short, '@oversized')
  count('failed_total', 1)
end

local function without_long(ids, set)
  local short
  for i, id in ipairs(ids) do
    if #id > longest_id then
      short = short or { unpack(ids, 1, i - 1) }
      redis.call('ZREM', set, id)
      set_aside(id)
    elseif short then
      short[#short + 1] = id
    end
  end
  return short or ids
end
