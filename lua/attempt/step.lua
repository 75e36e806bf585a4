#!lua flags=allow-oom
-- Records the result of a step of a running job, if the claim is current. Or returns the recorded steps.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id
-- ARGV[2] token
-- and to record a step:
-- ARGV[3] its name
-- ARGV[4] its result (JSON, '' for none)
-- ARGV[5] the most steps of a job
-- ARGV[6] the most bytes of all steps of a job
-- Returns lost. Without a name: the recorded steps, each a line of name, time in ms, attempt and result, with tabs between.
--   With a name: recorded, or the limit that forbids it: steps | bytes; then nothing was written.
-- Repeated: the same. A recorded step keeps its first result.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
local id, token, name, result = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local current, attempts, steps = unpack(read(job .. id, 'claim_token', 'attempts', 'steps'))
steps = steps or ''
if token == '' or current ~= token then
  return 'lost'
end
if not name then
  return steps
end
if string.find('\n' .. steps, '\n' .. name .. '\t', 1, true) then
  return 'recorded'
end
local _, count = string.gsub(steps, '\n', '')
local all = steps .. table.concat({ name, now_text, attempts or '0', result }, '\t') .. '\n'
if count >= tonumber(ARGV[5]) then
  return 'steps'
end
if #all > tonumber(ARGV[6]) then
  return 'bytes'
end
redis.call('HSET', job .. id, 'steps', all)
return 'recorded'
