#!lua flags=allow-oom
-- Extends from now the claims of a batch whose reply is still in flight. Its claimer knows the token, but not the ids.
-- Transition: none
-- KEYS[1] job     prefix of the job hashes
-- KEYS[2] claims  sorted set
-- KEYS[3] batch   string, the last batch of the claimer
-- ARGV[1] visibility in ms
-- ARGV[2] token
-- Returns how many claims it has extended: 0 if the claim was not made, or another one followed.
-- Repeated: the same, with the time counted again.
local job, claims, batch = KEYS[1], KEYS[2], KEYS[3]
local visibility, token = tonumber(ARGV[1]), ARGV[2]
--@include lib/core/clock
--@include lib/core/read
local last = redis.call('GET', batch)
if not last or string.sub(last, 1, #token + 1) ~= token .. '\n' then
  return 0
end
local expiry = string.format('%d', now + visibility)
local expiries = {}
for id in string.gmatch(last, '\n([^\n\t]+)') do
  if read(job .. id, 'claim_token')[1] == token then
    expiries[#expiries + 1], expiries[#expiries + 2] = expiry, id
  end
end
if #expiries > 0 then
  redis.call('ZADD', claims, unpack(expiries))
  redis.call('PEXPIREAT', batch, expiry)
end
return #expiries / 2
