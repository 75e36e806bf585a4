#!lua flags=no-writes,allow-oom
-- Reads the queue's figures at one instant, at a cost that does not grow with it.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] how long ago a worker may have been seen and still counts, in ms
-- Returns a flat list of field, value:
--   the depths
--   held_by_groups: jobs of groups that may start none
--   awaiting_permit: jobs of groups that rest for a permit of their key of a limit
--   batches: unfinished ones
--   parked: scheduled jobs that wait for a signal or sleep
--   foreign_claims: of clients of the Redis pattern
--   ages in ms (unheld: of jobs that no group holds back)
--   workers; without one: when the last one was seen
--   unserved: JSON of names that no live worker handles, and how long their jobs have waited in ms, as seen at the
--     front of the line; '' for none
--   maintained_at_ms, maintenance_overdue
--   since when, by whom, why and until when it is paused
--   late_after_ms: the wait from which workers call the queue late
--   remembered_ids: of ended jobs, and their bound
--   schedules, and since when the first of them is overdue: the next due one, and up to 20 that rest
--   dropped_at_ms: when the cap last deleted dead letters
--   the counters
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/place/oldest_age
local live_since = now - tonumber(ARGV[1])
--@include lib/place/announced
--@include lib/retention/announced_queue_limits
--@include lib/place/unserved_names
--@include lib/group/held_by_groups
--@include lib/group/awaiting_permit
--@include lib/reclaim/is_filler
--@include lib/schedule/overdue
--@include lib/signal/parked

-- Returns true if maintenance is overdue. The boot of a fleet counts as a run, so that it is not overdue before its
-- first maintenance. A look that found no work counts too. A later time than now comes from a clock that was ahead, and
-- counts as none. A process notes such looks once a minute, and holds the right to maintain for two intervals. Then the
-- others ask for the right in up to ten turns, 50 s at most.
local function is_maintenance_overdue(age, expired, live)
  local last_run_at, noted_at, every, served_since = unpack(redis.call('HMGET', sweep, 'last_run_at_ms', 'maintained_at_ms',
    'every_ms', 'served_since_ms'))
  last_run_at, noted_at, served_since = tonumber(last_run_at or nil), tonumber(noted_at or nil) or 0, tonumber(served_since or nil) or 0
  if last_run_at and last_run_at <= now then
    local since = math.max(last_run_at, noted_at <= now and noted_at or 0, live > 0 and served_since <= now and served_since or 0)
    every = tonumber(every) or 0
    return now - since > 60000 + 3 * every + math.max(every, math.min(10 * every, 50000))
  end
  return age > 60000 or expired > 0
end

local function schedules_overdue_since()
  local first = redis.call('ZRANGE', schedule_due, 0, 0, 'WITHSCORES')
  local since = first[1] and overdue_since(first[1], first[2]) or math.huge
  for _, id in ipairs(first[1] and redis.call('ZRANGE', schedule_due, '+inf', '+inf', 'BYSCORE', 'LIMIT', 0, 20) or {}) do
    since = math.min(since, overdue_since(id, 'inf') or math.huge)
  end
  return since < math.huge and string.format('%d', since) or ''
end

local function last_worker_at()
  local seen, left = redis.call('ZRANGE', workers, -1, -1, 'WITHSCORES')[2], redis.call('HGET', sweep, 'left_at_ms')
  local at = math.max(tonumber(seen or nil) or 0, tonumber(left or nil) or 0)
  return at > 0 and string.format('%d', at) or ''
end

local age, unheld_age = oldest_age()
local grouped = tonumber(redis.call('HGET', groups .. 'settings', 'waiting') or nil) or 0
local foreign = redis.call('LLEN', processing)
local filler_expiry = tonumber(redis.call('ZSCORE', claims, the_filler) or nil)
local claimed = redis.call('ZCARD', claims) - (filler_expiry and 1 or 0)
local expired = redis.call('ZCOUNT', claims, '-inf', now) - (filler_expiry and filler_expiry <= now and 1 or 0)
local live = redis.call('ZCOUNT', workers, live_since, now)
local paused_at, paused_by, pause_reason, paused_until, rate_waits = unpack(redis.call('HMGET', settings, 'paused_at_ms',
  'paused_by', 'pause_reason', 'paused_until_ms', 'rate_waits'))
if (tonumber(paused_until or nil) or math.huge) <= now then
  paused_at, paused_by, pause_reason, paused_until = nil, nil, nil, nil
end
local reply = {
  'now_ms', now,
  'pending', redis.call('LLEN', pending) + redis.call('ZCARD', prioritized) + grouped,
  'held_by_groups', held_by_groups(grouped),
  'awaiting_permit', grouped > 0 and select(2, awaiting_permit()) or 0,
  'batches', redis.call('ZCARD', batches),
  'scheduled', redis.call('ZCARD', scheduled),
  'parked', redis.call('ZCOUNT', awaiting_signals, '(' .. now_text, '+inf'),
  'processing', claimed + foreign,
  'foreign_claims', foreign,
  'completed', redis.call('LLEN', completed),
  'failed', redis.call('ZCARD', dead),
  'cancelled', redis.call('LLEN', cancelled),
  'error_kinds', #redis.call('HKEYS', error_kinds), -- the user of docs/cli.md that may only read has no HLEN
  'oldest_pending_age_ms', age,
  'oldest_unheld_age_ms', unheld_age,
  'expired_claims', expired,
  'workers', live,
  'unserved', unserved_names(live),
  'last_worker_at_ms', live == 0 and last_worker_at() or '',
  'maintained_at_ms', redis.call('HGET', sweep, 'maintained_at_ms') or '',
  'maintenance_overdue', is_maintenance_overdue(age, expired, live) and 1 or 0,
  'paused_at_ms', paused_at or '',
  'paused_by', paused_by or '',
  'pause_reason', pause_reason or '',
  'paused_until_ms', paused_until or '',
  'remembered_ids', redis.call('ZCARD', ended_ids),
  'remembered_ids_bound', announced.remembered_ids or 0,
  'late_after_ms', announced.late_after_ms or 0,
  'schedules', redis.call('ZCARD', schedule_due),
  'schedules_overdue_since_ms', schedules_overdue_since(),
  'dropped_at_ms', redis.call('HGET', sweep, 'dropped_at_ms') or '',
}
for _, value in ipairs(redis.call('HGETALL', stats)) do
  reply[#reply + 1] = value
end
if rate_waits then -- and those of limits before, see lib/limits/write
  local waits = tonumber(rate_waits) + tonumber(redis.call('HGET', stats, 'limited_total') or 0)
  reply[#reply + 1], reply[#reply + 2] = 'limited_total', string.format('%d', waits)
end
return reply
