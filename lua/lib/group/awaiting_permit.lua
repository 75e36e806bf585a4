-- The groups that rest because their key of a limit had no free permit. It looks at the lines of 1,000 of them.
-- awaiting_permit(): returns how many rest so, how many jobs wait in those lines, and the lines.
--   Each line has a name and a depth.
-- Needs: lib/core/clock, lib/core/keys.
local function awaiting_permit()
  local keyed, since = groups .. 'keyed', '(' .. now_text
  local resting = redis.call('ZRANGE', keyed, since, '+inf', 'BYSCORE', 'LIMIT', 0, 1000)
  local lines, jobs = {}, 0
  for i, depth in ipairs(#resting > 0 and redis.call('ZMSCORE', groups .. 'depths', unpack(resting)) or {}) do
    depth = tonumber(depth or nil) or 0
    lines[i], jobs = { name = resting[i], depth = depth }, jobs + depth
  end
  return redis.call('ZCOUNT', keyed, since, '+inf'), jobs, lines
end
