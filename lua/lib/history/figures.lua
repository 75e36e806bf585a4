-- take_times(fields, kind, taken): the times of one kind as text; adds the fields that held them to taken.
-- gained(): what each counter gained since the last entry, as text, and their sum.
-- The times of one kind as text, 'bucket:count,…', and the fields that held them.
-- Needs: COUNTERS, open, stats, lib/core/clock.
local function take_times(fields, kind, taken)
  local parts = {}
  for i = 1, #fields, 2 do
    local bucket = string.match(fields[i], '^' .. kind .. '(%d+)$')
    if bucket then
      parts[#parts + 1] = bucket .. ':' .. fields[i + 1]
      taken[#taken + 1] = fields[i]
    elseif kind == 'w' and string.sub(fields[i], 1, 2) == 'v:' and tonumber(fields[i + 1]) < now - 86400000 then
      taken[#taken + 1] = fields[i]
    end
  end
  return table.concat(parts, ',')
end

local function gained()
  local sum, gains = 0, {}
  for _, name in ipairs(COUNTERS) do
    local total = tonumber(redis.call('HGET', stats, name .. '_total') or 0) or 0
    local before = tonumber(redis.call('HGET', open, name) or total)
    local gain = math.max(0, total - before)
    redis.call('HSET', open, name, string.format('%.0f', total))
    gains[#gains + 1] = string.format('%.0f', gain)
    sum = sum + gain
  end
  return table.concat(gains, ','), sum
end
