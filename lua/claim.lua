#!lua flags=allow-oom
-- Claims up to count jobs: pending -> processing, with token, fence, attempt and expiry in one step. First moves what
-- is due. One claim in five passes over the most urgent jobs, so that a priority starves nobody for ever.
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] pending      list
-- KEYS[3] prioritized  sorted set
-- KEYS[4] scheduled    sorted set
-- KEYS[5] claims       sorted set
-- KEYS[6] wake         sorted set
-- KEYS[7] settings     hash
-- KEYS[8] sequence     string
-- KEYS[9] batch        string, the last batch of this claimer
-- ARGV[1] count; ARGV[2] visibility in ms; ARGV[3] token, new for each request, the same when it is repeated
-- ARGV[4] worker; ARGV[5] max_attempts and ARGV[6] max_crashes where the job has none of its own
-- ARGV[7..] by job name: name, max_attempts, max_crashes
-- Returns now in ms; ms until the next scheduled job is due, or -1; then for each job: id, name, payload, attempts,
--   fence, enqueued_at_ms, options, max_attempts, refusal ('' or why it must not run: missing, cancelled, expired,
--   exhausted; the claimer settles it as failed).
-- Repeated with the same token: the same jobs, as far as they are still claimed by it.
local job, pending, prioritized, scheduled, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local wake, settings, sequence, batch = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local count, visibility, token, worker = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
--@include lib/clock
--@include lib/rank
--@include lib/promote
--@include lib/take
local fields = { 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'max_attempts', 'max_crashes',
  'expires_at_ms', 'cancel_requested_at_ms', 'fence', 'claim_token' }
local reply = { now, -1 }

local function policy(name, at)
  for i = 7, #ARGV, 3 do
    if ARGV[i] == name then
      return ARGV[i + at]
    end
  end
  return ARGV[4 + at]
end

local function hand_over(id, hash, attempts, fence, max_attempts, refusal)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, hash[1], hash[2], attempts
  reply[n + 5], reply[n + 6], reply[n + 7], reply[n + 8] = fence, hash[4], hash[5], max_attempts
  reply[n + 9] = refusal
end

local last = redis.call('GET', batch)
if last then
  local remembered = cmsgpack.unpack(last)
  if remembered.token == token then
    for _, id in ipairs(remembered) do
      local hash = redis.call('HMGET', job .. id, unpack(fields))
      if hash[11] == token then
        hand_over(id, hash, tonumber(hash[3]), tonumber(hash[10]), tonumber(hash[6]), remembered.refusals[id] or '')
      end
    end
    return reply
  end
end

local soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
if soonest[2] and tonumber(soonest[2]) <= now then
  promote(math.max(count, 100))
  soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
end
if redis.call('HEXISTS', settings, 'paused_at_ms') == 1 then
  return reply
end
local ids, more = take(count)
if soonest[2] then
  reply[2] = math.max(0, tonumber(soonest[2]) - now)
end
if #ids == 0 then
  return reply
end

local fence = redis.call('INCRBY', sequence, #ids) - #ids
local expiries, remembered = {}, { token = token, refusals = {} }
for i, id in ipairs(ids) do
  local key = job .. id
  local hash = redis.call('HMGET', key, unpack(fields))
  local attempts, max_attempts = tonumber(hash[3]) or 0, tonumber(hash[6]) or tonumber(policy(hash[1], 1))
  local refusal = not hash[2] and 'missing' or hash[9] and 'cancelled' or hash[8] and (tonumber(hash[8]) or 0) <= now and 'expired'
    or attempts >= max_attempts and 'exhausted' or ''
  if refusal == '' then
    attempts = attempts + 1
  else
    remembered.refusals[id] = refusal
  end
  if hash[6] and hash[7] then
    redis.call('HSET', key, 'status', 'processing', 'claimed_at_ms', now, 'claim_token', token, 'attempts', attempts,
      'fence', fence + i, 'worker', worker)
  else
    redis.call('HSET', key, 'status', 'processing', 'claimed_at_ms', now, 'claim_token', token, 'attempts', attempts,
      'fence', fence + i, 'worker', worker, 'max_attempts', max_attempts, 'max_crashes', hash[7] or policy(hash[1], 2))
  end
  expiries[2 * i - 1], expiries[2 * i], remembered[i] = now + visibility, id, id
  hand_over(id, hash, attempts, fence + i, max_attempts, refusal)
end
redis.call('ZADD', claims, unpack(expiries))
redis.call('SET', batch, cmsgpack.pack(remembered), 'PX', visibility)
if more or soonest[2] and tonumber(soonest[2]) <= now then
  redis.call('ZADD', wake, 0, '1')
end
return reply
