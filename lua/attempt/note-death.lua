#!lua flags=allow-oom
-- Notes the uncaught error of a worker's process in its running jobs, and its time. The process may end now. If a claim then
-- expires, its crash has the error in its text (lib/settle/crash). The note counts only for the claim that it names.
-- Transition: none
-- KEYS[1] job  prefix of the job hashes
-- ARGV[1] the error, as one line
-- ARGV[2..] id, token; for each job
-- Returns the number of current claims. Repeated: the same.
local job = KEYS[1]
--@include lib/core/clock
--@include lib/core/read
local noted = 0
for i = 2, #ARGV, 2 do
  local key = job .. ARGV[i]
  local token, fence, death = unpack(read(key, 'claim_token', 'fence', 'death'))
  if token == ARGV[i + 1] then
    if death ~= fence .. ' ' .. ARGV[1] then
      redis.call('HSET', key, 'death', fence .. ' ' .. ARGV[1], 'died_at_ms', now_text)
    end
    noted = noted + 1
  end
end
return noted
