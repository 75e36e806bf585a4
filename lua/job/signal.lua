#!lua
-- Gives a job a signal. A job that is parked for it starts: scheduled -> pending or prioritized, at the back of its line. Else the
-- signal is kept for a later wait.
-- Transition: signal
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] the name of the signal
-- ARGV[3] its data (JSON, '' for none)
-- ARGV[4] identifies this request
-- ARGV[5] the required name of the job, or '' for any
-- ARGV[6] the most signals of a job
-- ARGV[7] the most bytes of all signals of a job
-- Returns delivered (the job goes on) | kept (for a later wait) | known (the job has a signal of that name; nothing changes). Or why it is
--   refused: missing | other-name | completed, failed, cancelled | late (the wait is over) | signals, bytes (the limit that forbids it). Then
--   nothing was written.
-- Repeated: the same, while the record lives.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/count
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/signal/parked
--@include lib/signal/waits
local id, name, data, request, expected_name = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local key = job .. id
local status, job_name, waits, signals, priority, group, lifo = unpack(read(key, 'status', 'name', 'waits', 'signals', 'priority',
  'group', 'lifo'))
if not status then
  return 'missing'
elseif expected_name ~= '' and job_name and job_name ~= expected_name then
  return 'other-name'
end
local known_data, asked_by, first_outcome = signal_of(signals, name)
if known_data then
  return asked_by == request and first_outcome or 'known'
end
if status == 'completed' or status == 'failed' or status == 'cancelled' then
  return status
end
local is_awaited = false
for _, wait in ipairs(waits_of(waits)) do
  if wait.name == name and wait.kind == 'signal' then
    if wait.state == 'over' or (tonumber(wait.until_at) or math.huge) <= now then
      return 'late'
    end
    is_awaited = wait.state == ''
  end
end
local goes_on = is_awaited and status == 'scheduled' and is_parked(id)
local outcome = goes_on and 'delivered' or 'kept'
local count_before = select(2, string.gsub(signals or '', '\n', ''))
local all = (signals or '') .. table.concat({ name, now_text, request, outcome, data }, '\t') .. '\n'
if count_before >= tonumber(ARGV[6]) then
  return 'signals'
elseif #all > tonumber(ARGV[7]) then
  return 'bytes'
end
-- The signal comes last. If the step breaks off before, the job is still parked, and its sender sends once more.
if goes_on then
  start_now(id, priority, group, lifo)
  redis.call('ZREM', scheduled, id)
  redis.call('ZREM', awaiting_signals, id)
end
redis.call('HSET', key, 'signals', all)
count('signalled_total', 1)
return outcome
