#!lua flags=allow-oom
-- Deletes unused data. In the histories: ids whose hash has expired or that are in use again, and jobs over the queue's
-- limits. Also expired unique keys, keys whose owner a client of the pattern ended, and forgotten workers. Also
-- schedules that no code declares, and waits for signals that are over. A queue without limits forgets its rest once it is over. If no job is left, it
-- deletes everything but the counters and a pause.
-- Transition: tidy
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most entries to read of each kind
-- ARGV[2] the maximum age of a dead letter in ms, or 0 for none
-- ARGV[3] how long a silent worker is remembered, in ms
-- ARGV[4] how long an undeclared schedule is kept, in ms
-- ARGV[5] completed_history, ARGV[6] failed_history, ARGV[7] cancelled_history in ids; ARGV[8] dead_letter_cap
-- ARGV[9] evicted_ttl in ms; announced limits override these
-- ARGV[10] the interval in ms, see lib/retention/once_per_interval; 0 also for the rest of an earlier call
-- ARGV[11] remembered_ids
-- Returns more (1 if a kind used up its limit), and how many dead letters the cap deleted since the last report, see
--   lib/retention/report_dropped. Then how many ids of ended jobs are remembered, if that is near their bound, once an
--   hour, else 0; the bound; 1 if records are kept that may have been read; and 1 if jobs have streams.
--   Repeated: continues, or leaves it to the first.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/retention/announced_queue_limits
local limit, dead_age = tonumber(ARGV[1]), announced.dead_letter_age or tonumber(ARGV[2])
local worker_age, schedule_age = tonumber(ARGV[3]), tonumber(ARGV[4])
local name_age = 2 * 86400000 -- no job waits longer for a worker of its name
local dead_letter_cap = announced.dead_letter_cap or tonumber(ARGV[8])
local evicted_ttl = ARGV[9]
local remembered_ids = announced.remembered_ids or tonumber(ARGV[11])
local more = 0

--@include lib/retention/once_per_interval
if not once_per_interval('tidied_at_ms', tonumber(ARGV[10])) then
  return { 0, 0, 0, 0, 0, 0 }
end

--@include lib/retention/trim_lists
--@include lib/group/place
--@include lib/retention/trim_dead_letters
--@include lib/retention/report_dropped

-- Removes entries of the set with a score up to `latest`, a slice at a time. `drop` does the rest.
local function leave(set, latest, drop)
  local over = redis.call('ZRANGE', set, '-inf', latest, 'BYSCORE', 'LIMIT', 0, limit)
  for _, member in ipairs(over) do
    redis.call('ZREM', set, member)
    drop(member)
  end
  more = #over == limit and 1 or more
end

--@include lib/retention/free_stale_unique
--@include lib/core/bring_back

local function forget_schedule(id)
  redis.call('ZREM', schedule_due, id)
  redis.call('UNLINK', schedule .. id)
end

--@include lib/retention/prune_ghosts
--@include lib/retention/forget_rest
--@include lib/signal/parked
--@include lib/retention/forget_idle_queue
--@include lib/kind/recount_kinds
--@include lib/reclaim/is_filler
--@include lib/stream/forget

cut(completed, announced.completed_history or tonumber(ARGV[5]))
cut(failed, announced.failed_history or tonumber(ARGV[6]))
cut(cancelled, announced.cancelled_history or tonumber(ARGV[7]))
more = trim_dead_letters(limit) > limit and 1 or more
leave(unique_expiries, now, free_key)
leave(ended_ids, now, function() end)
local known = redis.call('ZCARD', ended_ids)
if known > remembered_ids then
  redis.call('ZREMRANGEBYRANK', ended_ids, 0, math.min(known - remembered_ids, limit) - 1)
  more = known - remembered_ids > limit and 1 or more
end
free_stale_unique()
if dead_age > 0 then
  leave(dead, now - dead_age, delete_dead_letter)
end
trim(completed, 'completed')
trim(failed) -- lua/sweep/adopt-foreign.lua decides about an id that a client of the pattern put there
trim(cancelled, 'cancelled')
prune_ghosts()
for _, announced_at in ipairs({ workers, names, schedule_owners }) do
  bring_back(announced_at, now, now, limit) -- a clock that was ahead would keep them alive
end
-- A group is gated until its rate or rest ends. Some groups are placed again, because that end may be bounded by now.
local first_gated = tonumber(time[2]) % math.max(1, redis.call('ZCARD', group_keys.gated) - 49) -- by chance
for _, name in ipairs(redis.call('ZRANGE', group_keys.gated, first_gated, first_gated + 49)) do
  touch(name)
end
-- A script that broke off may have left the filler of lib/group/padding.
for _, kind in ipairs({ 'turns', 'gated', 'finishes', 'heads', 'depths' }) do
  redis.call('ZREM', group_keys[kind], the_filler)
end
redis.call('HDEL', group_keys.ends, the_filler)
leave(schedule_owners, now - schedule_age, forget_schedule)
leave(awaiting_signals, now, function() end) -- promoted, or about to be
local first_parked = tonumber(time[2]) % math.max(1, redis.call('ZCARD', awaiting_signals) - 49) -- by chance
for _, id in ipairs(redis.call('ZRANGE', awaiting_signals, first_parked, first_parked + 49)) do
  if not is_parked(id) then
    redis.call('ZREM', awaiting_signals, id) -- another program took it out of scheduled
  end
end
redis.call('ZREMRANGEBYSCORE', workers, '-inf', now - worker_age)
leave(names, now - name_age, function(name) redis.call('HDEL', handler_limits, name) end)
recount_kinds(limit)
place_groups()
forget_rest()
local dropped, is_near = report_dropped(), known >= 0.8 * remembered_ids and remembered_ids > 0
local told = is_near and once_per_interval('ids_told_at_ms', 3600000) and known or 0
local looks = #redis.call('ZRANGE', kept_results, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)
forget_idle_queue()
return { more, dropped, told, remembered_ids, looks, redis.call('EXISTS', streams) }
