-- take_named(count): takes up to count ids of jobs whose names the claimer handles. Other jobs stay in their places for
-- other workers. A call reads the front, one slice behind a cursor, and the newest jobs. So its cost is bounded, however
-- many other jobs are in front.
-- Returns the ids, and whether claimable jobs are left.
-- cursor: the next place to search, or -1 if all jobs were read
-- elsewhere: whether a live worker handles a job that was left
-- unserved: the names of left jobs that no live worker handles
-- waits_here: in a queue without groups, whether a job that it handles waits for the rate or the rest
-- Needs: first_limit, full, job, most_bytes, pending, prioritized, sequence, lib/core/clock, lib/limits/slots_and_rate,
--   lib/place/claim_waiting.
local cursor, max_age, seen_ms = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local urgent, plain, looked, newest, served = {}, {}, {}, {}, {}
for i = first_limit, #ARGV, 2 do
  served[ARGV[i]] = true
end
--@include lib/place/unserved

local function look_at(ids, chosen, most)
  for _, id in ipairs(ids) do
    if #chosen >= most then
      return
    end
    if not looked[id] then
      looked[id] = true
      chosen[#chosen + 1] = (#id > 1024 or may_take(id)) and id or nil -- its claim refuses an id that is too long
    end
  end
end

-- Reads from the right, which is the front; at is a position from 0.
local function pending_from(at, most)
  local ids, turned = redis.call('LRANGE', pending, -at - most, -at - 1), {}
  for i = #ids, 1, -1 do
    turned[#turned + 1] = ids[i]
  end
  return turned
end

local function look_behind_cursor(count)
  local urgent_waiting, slice = redis.call('ZCARD', prioritized), 500
  if cursor < urgent_waiting then
    look_at(redis.call('ZRANGE', prioritized, cursor, cursor + slice - 1), urgent, count)
  else
    look_at(pending_from(cursor - urgent_waiting, slice), plain, count)
  end
  local taken = #urgent + #plain
  if taken < count then
    local next_at = cursor < urgent_waiting and math.min(cursor + slice, urgent_waiting) or cursor + slice
    cursor = next_at >= urgent_waiting + redis.call('LLEN', pending) and -1 or math.max(0, next_at - taken)
  end
end

local function take_named(count)
  -- One more job is looked for where it would wait for the rate or the rest.
  local window, most = 100, (rate or rests_until > now) and slots_left > 0 and not has_groups and count + 1 or count
  look_at(redis.call('ZRANGE', prioritized, 0, window - 1), urgent, most)
  look_at(pending_from(0, window), plain, most)
  if cursor >= 0 and #urgent + #plain < most then
    look_behind_cursor(most)
  end
  if #urgent + #plain < most then
    local before = #plain
    look_at(redis.call('LRANGE', pending, 0, window - 1), plain, most)
    for i = before + 1, #plain do
      newest[plain[i]] = true
    end
  end
  -- One claim in ten takes a plain job, so that urgent ones starve no job.
  local ids, turn, u, p, bytes_taken = {}, tonumber(redis.call('GET', sequence) or 0), 1, 1, 0
  while #ids < count and (urgent[u] or plain[p]) do
    turn = turn + 1
    local is_plain = plain[p] and (not urgent[u] or turn * 0.6180339887498949 % 1 < 0.1)
    local id = is_plain and plain[p] or urgent[u]
    bytes_taken = bytes_taken + redis.call('HSTRLEN', job .. id, 'payload')
    if bytes_taken > most_bytes and #ids > 0 then
      full, waits_here, cursor = true, true, tonumber(ARGV[10]) -- found jobs that were left must be found again
      return ids, true
    end
    ids[#ids + 1] = id
    u, p = is_plain and u or u + 1, is_plain and p + 1 or p
    if redis.call('ZREM', prioritized, id) == 0 then
      redis.call('LREM', pending, newest[id] and 1 or -1, id)
    end
  end
  waits_here = urgent[u] or plain[p]
  return ids, #ids == count and redis.call('EXISTS', pending, prioritized) > 0
end
