#!lua
-- Creates or changes a schedule. An equal definition changes nothing. A changed one keeps a pause and a due tick. A
-- schedule that code declares lives while a process declares it. A schedule that a call created lives until it is
-- removed. If versions of the code disagree, the declared definition stays in force until the last process of its
-- version stops. After a killed process it stays for a while.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] source: code | call
-- ARGV[3] the worker that declares it, '' for a call
-- ARGV[4] next due time in ms, +inf if none is left, '' if the caller does not know the server's time yet
-- ARGV[5] how long a declaration lasts, in ms
-- ARGV[6] version: identifies the definition
-- ARGV[7] recurrence (JSON)
-- ARGV[8] job name
-- ARGV[9] payload (JSON)
-- ARGV[10] options, as for enqueue
-- ARGV[11] on_missed: skip | once
-- ARGV[12] the delay from which a tick counts as missed, in ms
-- ARGV[13] after how many jobs it ends, '' for none
-- ARGV[14] the updated_at_ms that it must have, 'absent' if it must be new, '' for any
-- Returns created | changed | unchanged | conflict | declared | stale | next, then now in ms.
--   conflict: another version of the code declares it
--   declared: refused, because a call cannot change a declared one
--   stale: refused, because it is not as ARGV[14] says. An equal definition is unchanged, so a repeat is not refused.
--   next: nothing was changed; call again with ARGV[4]
-- Repeated: unchanged.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/schedule/rest
-- Wakes a worker, which looks for the next due time because it finds no job.
local function tell_worker()
--@include lib/core/wake
end
local id, source, worker, next_due, declaration_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local version, key, expected = ARGV[6], schedule .. ARGV[1], ARGV[14]
local current, old_source, declared_by, declared_until, paused, ended, updated = unpack(redis.call('HMGET', key,
  'version', 'source', 'declared_by', 'declared_until_ms', 'paused_at_ms', 'ended_at_ms', 'updated_at_ms'))

local function is_declared_by_another()
  return old_source == 'code' and declared_by ~= worker and is_declaration(declared_until, declaration_ms)
end

local function own()
  redis.call('HSET', key, 'source', source)
  if source == 'code' then
    redis.call('ZADD', schedule_owners, now, id)
    redis.call('HSET', key, 'declared_by', worker, 'declared_until_ms', string.format('%d', now + declaration_ms))
  else
    redis.call('ZREM', schedule_owners, id)
    redis.call('HDEL', key, 'declared_by', 'declared_until_ms')
  end
  wake_schedule(id, key)
end

if current and source == 'call' and old_source == 'code' and is_declared(id, declaration_ms) then
  return { 'declared', now }
end
if current == version then
  own()
  if ended then
    set_due(id, key, math.huge)
  end
  return { 'unchanged', now }
end
if expected ~= '' and expected ~= (updated or 'absent') then
  return { 'stale', now }
end
if current and source == 'code' and is_declared_by_another() then
  redis.call('ZADD', schedule_owners, now, id)
  wake_schedule(id, key)
  return { 'conflict', now }
end
if not next_due then
  return { 'next', now }
end
redis.call('HSET', key, 'version', version, 'recurrence', ARGV[7], 'name', ARGV[8], 'payload', ARGV[9],
  'options', ARGV[10], 'on_missed', ARGV[11], 'missed_after_ms', ARGV[12], 'tick_limit', ARGV[13],
  'updated_at_ms', now_text)
own()
if not current then
  redis.call('HSET', key, 'created_at_ms', now_text)
  set_due(id, key, next_due)
  tell_worker()
  return { 'created', now }
end
local due = tonumber(redis.call('ZSCORE', schedule_due, id) or nil)
if not paused and not (due and due <= now) then
  set_due(id, key, next_due)
end
tell_worker()
return { 'changed', now }
