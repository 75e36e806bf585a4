#!lua flags=allow-oom
-- Extends current claims from now, even expired ones that no sweep has reclaimed.
-- Transition: none
-- KEYS[1] job     prefix of the job hashes
-- KEYS[2] claims  sorted set
-- KEYS[3] sweep   hash
-- ARGV[1] visibility in ms
-- ARGV[2..] for each claim: id, token
-- Returns, for each claim that needs attention: id, lost | cancel.
-- Repeated: the same, with the time counted again.
local job, claims, sweep = KEYS[1], KEYS[2], KEYS[3]
local visibility = tonumber(ARGV[1])
--@include lib/core/clock
--@include lib/core/read
--@include lib/limits/largest
note_largest('longest_visibility_ms', visibility)
local expiry = string.format('%d', now + visibility)
local expiries, notices = {}, {}

for i = 2, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  local current, cancel = unpack(read(job .. id, 'claim_token', 'cancel_requested_at_ms'))
  if current == token then
    expiries[#expiries + 1], expiries[#expiries + 2] = expiry, id
  end
  if current ~= token or cancel then
    notices[#notices + 1], notices[#notices + 2] = id, current == token and 'cancel' or 'lost'
  end
end
if #expiries > 0 then
  redis.call('ZADD', claims, unpack(expiries))
end
return notices
