#!lua flags=allow-oom
-- Gives unfinished jobs back, their attempt uncounted: processing -> pending (at the front, in the old order) or
-- scheduled. For a shutdown (interruption), a snooze, a limit that the handler met (rate_limited: its group rests, or without one the queue), or a name that no handler of this worker knows (unhandled): that job
-- stays where every worker sees it, and is as old as before.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..9]: retention and limits, see lib/retention/retention_args
-- ARGV[10..] for each job: id, token, fence, reason (interruption, snooze, rate_limited, unhandled), delay in ms (for
--   rate_limited: how long the group or the queue rests), name (for unhandled,
--   where the hash has none: the name that the worker found in the payload; else '')
-- Returns, for each job: released | failed | cancelled | lost.
-- Repeated: the token is empty and the fence equal, or the attempt_log has the fence, so it counts as done and changes
--   nothing.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/increment
--@include lib/core/rank
--@include lib/core/events
--@include lib/settle/history
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/settle/attempt_log
--@include lib/settle/finish
local counters = { interruption = 'interruptions', snooze = 'snoozes', rate_limited = 'rate_limited', unhandled = 'unhandled' }
local first_answer = { pending = 'released', scheduled = 'released', cancelled = 'cancelled' }

local function note_unhandled(key, found_name, ready_at)
  redis.call('HSETNX', key, 'unhandled_at_ms', now)
  if found_name ~= '' and redis.call('HSETNX', key, 'name', found_name) == 1 then
    redis.call('HSET', key, 'foreign', '1')
  end
  if ready_at then
    redis.call('HSET', key, 'ready_at_ms', ready_at)
  else
    redis.call('HDEL', key, 'ready_at_ms')
  end
end

-- The group, or without one the queue, starts nothing until then. A rest that ends later stays.
local function rest(ms, group)
  local key = group and groups .. 'state:' .. group or settings
  local rests_until = tonumber(redis.call('HGET', key, 'rests_until_ms') or nil) or 0
  redis.call('HSET', key, 'rests_until_ms', string.format('%.0f', math.max(rests_until, now + ms)))
  redis.call('HINCRBY', stats, 'rate_limited_total', 1)
end

local function release(id, reason, delay, found_name)
  local key = job .. id
  redis.call('ZREM', claims, id)
  log_attempt(id, reason)
  local priority, rank, cancel, attempts, ready_at, group, times = unpack(read(key, 'priority', 'rank',
    'cancel_requested_at_ms', 'attempts', 'ready_at_ms', 'group', counters[reason]))
  if group then
    free_slot(group, id)
  end
  redis.call('HSET', key, 'claim_token', '', 'claimed_at_ms', 0, 'attempts', math.max(0, (tonumber(attempts) or 1) - 1),
    counters[reason], increment(times))
  if cancel then
    end_cancelled(id)
    return 'cancelled'
  end
  if reason == 'rate_limited' then
    rest(delay, group)
    to_front(id, priority, rank, group)
  elseif delay > 0 then
    to_later(id, now + delay)
    if group then
      hold_group(group, id)
    end
  else
    to_front(id, priority, rank, group)
  end
  if reason == 'unhandled' then
    note_unhandled(key, found_name, ready_at)
  end
  redis.call('HINCRBY', stats, 'released_total', 1)
  emit(id, 'released')
  return 'released'
end

local answers, current_claims, claim_of = {}, {}, {}
for i = first, #ARGV, 6 do
  local id, token, fence = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local current, last_fence, status = unpack(read(job .. id, 'claim_token', 'fence', 'status'))
  local index = #answers + 1
  answers[index] = 'lost'
  if current == token and status == 'processing' then
    local claim = claim_of[id]
    if not claim then
      claim = { id = id, fence = tonumber(fence), reason = ARGV[i + 3], delay = tonumber(ARGV[i + 4]), name = ARGV[i + 5],
        indexes = {} }
      claim_of[id], current_claims[#current_claims + 1] = claim, claim
    end
    claim.indexes[#claim.indexes + 1] = index
  elseif current == '' and last_fence == fence then
    answers[index] = first_answer[status] or 'lost'
  elseif counters[logged_outcome(id, fence)] then
    answers[index] = 'released' -- and claimed anew since
  end
end
-- The job claimed first must be claimed first again, so it is put to the front last.
table.sort(current_claims, function(a, b) return a.fence > b.fence end)
for _, claim in ipairs(current_claims) do
  local answer = release(claim.id, claim.reason, claim.delay, claim.name)
  for _, index in ipairs(claim.indexes) do
    answers[index] = answer
  end
end
place_groups()
if #current_claims > 0 and redis.call('HEXISTS', settings, 'max_running') == 1 then
  wake_one() -- a slot is free
end
return answers
