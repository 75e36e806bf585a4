#!lua flags=allow-oom
-- Claims up to count jobs: pending -> processing, with token, fence, attempt and expiry in one step. First moves what is
-- due. One claim in five passes over the most urgent jobs, so that a priority starves nobody for ever.
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
-- ARGV[4] worker; ARGV[5] max_attempts where the job has none of its own; ARGV[6] how many begin at once, where the
--   claimer says by start what begins later, and runs a job on its last chance alone, else ''; ARGV[7..] by job name: name,
--   max_attempts
-- Returns now in ms; ms until the next scheduled job is due, or -1; the fence of the first job, each other's is one more;
--   then for each job: id, name (nil: that of the job before; '': it has none), payload, enqueued_at_ms, and nil for a first
--   attempt without options that may run, else an array: attempts, options, verdict ('' to run it; ahead: it is held until
--   start, since no slot was free for it; alone: held likewise, run it alone; expires: where it waits before it begins, only
--   start says whether it still may; ahead_expires: both; or why it must not run, see lib/refuse: missing, cancelled, expired,
--   exhausted; the claimer settles it as failed). Where the call is repeated an array for each, with its fence at the end.
-- Repeated with the same token: the same jobs, as far as they are still claimed by it.
local job, pending, prioritized, scheduled, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local wake, settings, sequence, batch = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local count, visibility, token, worker = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local tells, slots, first_limit = ARGV[6] ~= '', tonumber(ARGV[6]) or count, 7
--@include lib/clock
--@include lib/read
-- The nils are room for what one job needs: a table that grows as it is filled costs as much again.
local reply, replied, name_before = { now, -1, 0, nil, nil, nil, nil, nil }, 3, nil
local function hand_over(id, name, payload, enqueued_at, rest)
  name = name or ''
  reply[replied + 1], reply[replied + 2], reply[replied + 3] = id, name ~= name_before and name, payload
  reply[replied + 4], reply[replied + 5] = enqueued_at, rest
  replied, name_before = replied + 5, name
end

-- The memory of the last batch is its token, then a line for each id, with the verdict behind a tab where there is one.
local last = redis.call('GET', batch)
local ids, more, due_waits = {}, false, false
if last and string.sub(last, 1, #token + 1) == token .. '\n' then
  for id, verdict in string.gmatch(last, '\n([^\n\t]+)\t?([^\n]*)') do
    local current, name, payload, attempts, fence, enqueued_at, options = unpack(read(job .. id,
      'claim_token', 'name', 'payload', 'attempts', 'fence', 'enqueued_at_ms', 'options'))
    if current == token then
      hand_over(id, name, payload, enqueued_at, { tonumber(attempts) or 0, options, verdict, tonumber(fence) or 0 })
    end
  end
elseif redis.call('EXISTS', settings, scheduled, prioritized) == 0 then
  ids = redis.call('RPOP', pending, ARGV[1]) or ids
  more = #ids == count and redis.call('LLEN', pending) > 0
else
  -- Included here, and not above, so that a queue of plain jobs does not pay for what it does not use.
--@include lib/rank
--@include lib/promote
--@include lib/take
  local soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
  if soonest[2] and tonumber(soonest[2]) <= now then
    promote(math.max(count, 100))
    soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
  end
  if redis.call('HEXISTS', settings, 'paused_at_ms') == 0 then
    ids, more = take(count)
    if soonest[2] then
      reply[2] = math.max(0, tonumber(soonest[2]) - now)
      due_waits = reply[2] == 0
    end
  end
end

if #ids > 0 then
  local fence = redis.call('INCRBY', sequence, #ids == 1 and '1' or string.format('%d', #ids)) - #ids
  local expiry = string.format('%d', now + visibility)
  local expiries, remembered, claimed = { nil, nil }, { token, nil }, 0
  reply[3] = fence + 1
  for _, id in ipairs(ids) do
    local key = job .. id
    local name, payload, attempts, enqueued_at, options = unpack(read(key,
      'name', 'payload', 'attempts', 'enqueued_at_ms', 'options'))
    attempts = attempts == '0' and 0 or math.max(0, tonumber(attempts) or 0)
    local verdict = ''
    if attempts > 0 or options or not payload then
--@include lib/verdict
      verdict = verdict_of(key, name, payload, attempts)
    end
    local waits = claimed >= slots
    if waits and (verdict == '' or verdict == 'expires') then
      verdict = verdict == '' and 'ahead' or 'ahead_expires'
    end
    if verdict ~= 'ended' then
      local plain = attempts == 0 and not options and verdict == ''
      local held = verdict == 'alone' or verdict == 'ahead' or verdict == 'ahead_expires'
      local runs = held or verdict == '' or verdict == 'expires'
      attempts = runs and attempts + 1 or attempts
      fence, claimed = fence + 1, claimed + 1
      local fence_text = string.format('%d', fence)
      redis.call('HSET', key, 'status', 'processing', 'attempts', plain and '1' or string.format('%d', attempts),
        'claim_token', token, 'claimed_at_ms', now_text, 'fence', fence_text, 'worker', worker)
      if held then
        redis.call('HSET', key, 'held', fence_text)
      end
      expiries[2 * claimed - 1], expiries[2 * claimed] = expiry, id
      remembered[claimed + 1] = verdict == '' and id or id .. '\t' .. verdict
      hand_over(id, name, payload, enqueued_at, not plain and { attempts, options, verdict })
    end
  end
  if claimed > 0 then
    redis.call('ZADD', claims, unpack(expiries))
    redis.call('SET', batch, table.concat(remembered, '\n'), 'PXAT', expiry)
  end
  if more or due_waits then
    redis.call('ZADD', wake, '0', '1')
  end
end
return reply
