#!lua
-- Adds dead letters that a sender keeps elsewhere, such as failed jobs of another library, each once: nothing -> failed. An
--   entry is marked in the step that adds it, as in once/enqueue. Nothing is told of their end, which was long ago.
--   The cap deletes none: what exceeds it is refused.
-- Transition: fail
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] dead         sorted set
-- KEYS[3] stats        hash
-- KEYS[4] error_kinds  hash
-- KEYS[5] retention    hash
-- KEYS[6] once_fences  hash: the largest fence of each source
-- KEYS[7] once         sorted set: the marks of this source
-- ARGV[1] source       the name of what the senders share
-- ARGV[2] fence        of this sender, an integer
-- ARGV[3] dead_letter_cap, unless workers have announced another
-- ARGV[4..] for each entry: its key, then id, name, payload and options of its job, as in job/enqueue, its attempts, errors
--   and crashes, the message of its last error, the kind of that, and the last attempt as a line of its log
-- Returns stale and the larger fence of another sender: nothing was done. Else, for each entry:
--   new, known (its key is marked), existing (its id is known here, and not by a forwarding record), or the cap if there
--   are as many dead letters. The last two get no mark.
-- Repeated: a marked key adds nothing.
local job, dead, stats, error_kinds, retention, once_fences, once = unpack(KEYS)
local source, fence = ARGV[1], ARGV[2]
--@include lib/core/clock
--@include lib/core/count
--@include lib/retention/announced_queue_limits
--@include lib/enqueue/options
--@include lib/kind/change_kind
local cap = announced.dead_letter_cap or tonumber(ARGV[3])
local fields = 11

-- Writes the hash first: the doctor gives a dead letter without a place its place.
local function add(id, name, payload, options, attempts, errors, crashes, message, kind, log)
  local key = job .. id
  redis.call('UNLINK', key) -- a forwarding record of a move makes way
  redis.call('HSET', key, 'name', name, 'payload', payload, 'status', 'failed', 'claim_token', '', 'enqueued_at_ms', now_text,
    'failed_at_ms', now_text, 'attempts', attempts, 'errors', errors, 'crashes', crashes, 'last_error', message,
    'last_error_at_ms', now_text, 'attempt_log', log)
  write_options(key, options ~= '' and cjson.decode(options) or {})
  leave_plain(key)
  redis.call('ZADD', dead, now_text, id)
  change_kind(id, kind)
  count('enqueued_total', 1)
  count('failed_total', 1)
end

--@include lib/once/begin_sending
local replies = {}
for at = 4, #ARGV, fields do
  local key, id = ARGV[at], ARGV[at + 1]
  local reply = 'new'
  if redis.call('ZSCORE', once, key) then
    reply = 'known'
  elseif redis.call('EXISTS', job .. id) == 1 and redis.call('HEXISTS', job .. id, 'moved') == 0 then
    reply = 'existing'
  elseif redis.call('ZCARD', dead) >= cap then
    reply = cap
  else
    add(id, unpack(ARGV, at + 2, at + 10))
    redis.call('ZADD', once, now_text, key)
  end
  replies[#replies + 1] = reply
end
return replies
