-- forget_waits(key): lets a job that starts over wait anew for each signal that did not come. Its signals, their answers and the slept
--   times stay.
local function forget_waits(key)
  local waits, kept = redis.call('HGET', key, 'waits'), {}
  for line in string.gmatch(waits or '', '[^\n]+') do
    if string.find(line, '\tanswered$') or string.find(line, '^[^\t]*\tsleep\t.*\tover$') then
      kept[#kept + 1] = line .. '\n'
    end
  end
  if kept[1] then
    redis.call('HSET', key, 'waits', table.concat(kept))
  elseif waits then
    redis.call('HDEL', key, 'waits')
  end
end
