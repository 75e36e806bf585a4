-- live_workers(workers, worker_details, age, most): returns the workers that were seen in the last `age` ms, the latest first.
--   For each its id, when it was seen, and its words ('' for none).
-- Needs: lib/core/clock.
local function live_workers(workers, worker_details, age, most)
  local since = string.format('%.0f', now - age)
  local found = redis.call('ZRANGE', workers, now_text, since, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES')
  local live = {}
  for i = 1, #found, 2 do
    live[#live + 1] = { found[i], found[i + 1], redis.call('HGET', worker_details, found[i]) or '' }
  end
  return live
end
