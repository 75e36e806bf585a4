#!lua flags=allow-oom
-- Starts jobs that waited in their worker, and removes their marks as unstarted. From now on the death of the worker is
-- their crash. A job that has expired by now must not start, and stays unstarted until it is settled. A job that starts
-- uncharged keeps its mark until a later start. Until then the death of its worker is an interruption.
-- Transition: none
-- KEYS[1] job  prefix of the job hashes
-- ARGV    for each job: id, token, fence, '1' if it may expire, 'uncharged' if it may and starts uncharged, else ''
-- Returns 1 if all started. Else for each job 1, 0 if the claim is lost, or why it must not start (expired, see
--   lib/settle/refusal), so that the claimer settles it as failed.
-- Repeated: the same, unless one expired in between, and nothing changes.
local job = KEYS[1]
--@include lib/core/read
local outcomes, all_started, expiring = {}, true, {}
for i = 1, #ARGV, 4 do
  local key, token, mark, place = job .. ARGV[i], ARGV[i + 1], 'unstarted:' .. ARGV[i + 2], (i + 3) / 4
  outcomes[place] = 1
  if ARGV[i + 3] ~= '' then
    expiring[#expiring + 1] = { place, key, token, mark, ARGV[i + 3] }
  else
    -- The mark is that of this claim alone. Where it is gone, this call is a repeat, or the claim is lost.
    local removed = redis.pcall('HDEL', key, mark)
    if removed ~= 1 and read(key, 'claim_token')[1] ~= token then
      outcomes[place], all_started = 0, false
    end
  end
end
if expiring[1] then
  -- Included here, so that jobs that do not expire do not pay for it.
--@include lib/core/clock
--@include lib/settle/refusal
  for _, each in ipairs(expiring) do
    local place, key, token, mark, how = unpack(each)
    local current, expires_at, attempts = unpack(read(key, 'claim_token', 'expires_at_ms', 'attempts'))
    if current ~= token then
      outcomes[place], all_started = 0, false
    elseif expires_at and (tonumber(expires_at) or 0) <= now then
      redis.call('HSET', key, mark, '1')
      outcomes[place], all_started = refuse(key, 'expired', math.max(0, (tonumber(attempts) or 0) - 1), ''), false
    elseif how ~= 'uncharged' then
      redis.call('HDEL', key, mark)
    elseif redis.call('HEXISTS', key, mark) == 1 then -- else the job was charged in between
      redis.call('HSET', key, mark, how)
    end
  end
end
return all_started and 1 or outcomes
