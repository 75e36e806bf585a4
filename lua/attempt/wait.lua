#!lua flags=allow-oom
-- Notes that a running job waits for a signal or sleeps, if the claim is current. Or returns how that wait ended.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] token
-- ARGV[3] the name of the wait
-- ARGV[4] its kind: signal or sleep
-- ARGV[5] how long it waits in ms, '' for as long as it takes. A later attempt does not change that
-- ARGV[6] the most waits of a job
-- Returns lost, or waits if the job has as many already: then nothing was written. Else how it ended: answered and the data, or over.
--   Or open, and the ms until its time is over, '' for none.
-- Repeated: the same, or what has ended the wait since.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/signal/waits
local id, token, name, kind, timeout = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local key = job .. id
local current, waits, signals = unpack(read(key, 'claim_token', 'waits', 'signals'))
if token == '' or current ~= token then
  return { 'lost' }
end
local all, wait = waits_of(waits), nil
for _, each in ipairs(all) do
  if each.name == name and each.kind == kind then
    wait = each
  end
end
if not wait then
  if #all >= tonumber(ARGV[6]) then
    return { 'waits' }
  end
  wait = { name = name, kind = kind, since = now_text, until_at = timeout and string.format('%d', now + timeout) or '', state = '' }
  all[#all + 1] = wait
end
local data = kind == 'signal' and wait.state ~= 'over' and signal_of(signals, name)
if data then
  wait.state = 'answered'
elseif wait.until_at ~= '' and tonumber(wait.until_at) <= now then
  wait.state = 'over'
end

local lines = {}
for i, each in ipairs(all) do
  lines[i] = table.concat({ each.name, each.kind, each.since, each.until_at, each.state }, '\t') .. '\n'
end
redis.call('HSET', key, 'waits', table.concat(lines))
if wait.state == '' then
  return { 'open', wait.until_at == '' and '' or string.format('%d', tonumber(wait.until_at) - now) }
end
return { wait.state, data or '' }
