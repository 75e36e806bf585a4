-- Claims the jobs of ids, which are in no place now. It sets fence, token, attempt, expiry, and the memory of the
--   batch. An id that has another place, or whose job has ended, is only dropped. It is not a function, because a
--   function would bind its outside variables.
-- Needs: batch, bytes, claims, full, giant_bytes, hand_over, ids, job, known_jobs, more, most_bytes, name_before,
--   overdue, reply, sequence, slots, token, visibility, worker, lib/core/clock, lib/core/read.
local last_fence = redis.pcall('INCRBY', sequence, #ids == 1 and '1' or string.format('%d', #ids))
-- A spoilt sequence: lib/place/claim_waiting finds it in a queue with other than plain jobs, before it takes one.
local first_left = type(last_fence) ~= 'number' and 1 or nil
local fence = first_left and 0 or last_fence - #ids
local expiry = string.format('%d', now + visibility)
-- Redis keeps a small set as a list, and each change walks through it. A member of more than 64 bytes turns it into a tree.
-- So a claim of eight jobs or more first adds such a member, and removes it at the end. An id is shorter.
local filler, filled = #ids >= 8 and string.rep('-', 257), #ids >= 8 and 2 or 0
local expiries, remembered, claimed, none = filler and { expiry, filler } or { nil, nil }, { token, nil }, 0, {}
reply[3] = fence + 1
for place = 1, first_left and 0 or #ids do
  local id = ids[place]
  if #id > 1024 then
--@include lib/settle/shorten
  end
  local key = job .. id
  local known = known_jobs and known_jobs[id]
  local name, payload, attempts, enqueued_at, options, status = unpack(known or read(key,
    'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status'), 1, 6)
  if known then
    known_jobs[id] = nil -- an id that was taken twice is read again
  end
  if name ~= name_before and name and #name > 1024 then
    status = false -- its check refuses it
  end
  local giant = payload and #payload > giant_bytes and #payload
  if giant then
--@include lib/limits/raise_giant
    giant = giant > giant_bytes and giant
  end
  payload = not giant and payload
  bytes = bytes + #(payload or '')
  if bytes > most_bytes and claimed > 0 then
    local named = string.sub(id, 1, 11) == '@oversized:' and 1 or 0 -- its short id may hold the next number
    redis.call('INCRBY', sequence, place - 1 - #ids + named) -- the numbers of the jobs that are left are free again
    first_left, more, full = place, true, true
    break
  end
  attempts = attempts and math.max(0, tonumber(attempts) or 0) or 0
  local verdict, checkpoint = '', nil
  -- A first attempt with metadata alone, or with a group alone, runs as one without options.
  local grouped = known and known[8] == 'grouped'
  local metadata = not grouped and attempts == 0 and options and string.sub(options, 1, 14) == '{"plain":true,' and options
  local simple = metadata or grouped and options
  local is_checked = attempts > 0 or options and not simple and not (known and known[8]) or not payload or overdue
  if is_checked or status ~= 'pending' then
    local part
--@include lib/settle/oversized_part
--@include lib/settle/claim_check
    verdict, checkpoint = check_claim(id, name, payload, attempts, giant, part)
    verdict = overdue and overdue[id] or verdict
  end
  if verdict ~= 'elsewhere' then
    local runs = verdict == '' or verdict == 'expires' or verdict == 'isolated'
    local unstarted = verdict == 'isolated' or runs and slots ~= nil and claimed >= slots
    local first = attempts == 0 and (simple or not options) and verdict == ''
    attempts = runs and attempts + 1 or attempts
    fence, claimed = fence + 1, claimed + 1
    local fence_text = string.format('%d', fence)
    redis.call('HSET', key, 'status', 'processing', 'attempts', first and '1' or string.format('%d', attempts),
      'claim_token', token, 'claimed_at_ms', now_text, 'fence', fence_text, 'worker', worker,
      unpack((unstarted or not runs) and { 'unstarted:' .. fence_text, runs and '1' or 'refused' } or none))
    expiries[filled + 2 * claimed - 1], expiries[filled + 2 * claimed] = expiry, id
    remembered[claimed + 1] = verdict == '' and id or id .. '\t' .. verdict
    hand_over(id, name, payload, enqueued_at, (unstarted or not first) and { attempts, options, verdict,
      unstarted and simple and not metadata and 'grouped' or unstarted, checkpoint and false, checkpoint } or simple or false)
  end
end
if first_left then
  local from, taken = first_left, ids
--@include lib/place/put_back
end
if type(last_fence) ~= 'number' then
  error(last_fence)
end
if claimed > 0 then
  local noted = redis.pcall('ZADD', claims, unpack(expiries))
  if type(noted) ~= 'number' then
--@include lib/settle/undo_claims
    error(noted)
  end
  if filler then
    redis.call('ZREM', claims, filler)
  end
  redis.call('SET', batch, table.concat(remembered, '\n'), 'PXAT', expiry)
end
