-- forget_names(): deletes the names that workers announced. Those of failure handlers stay for a day, see
--   lib/settle/report_failure.
-- Needs: lib/core/keys.
local function forget_names()
  local announced, forgotten, latest = redis.call('ZRANGE', names, 0, -1, 'WITHSCORES'), {}, nil
  for i = 1, #announced, 2 do
    if string.sub(announced[i], 1, 8) == '@failed:' then
      latest = tonumber(announced[i + 1]) -- the last one is the greatest
    else
      forgotten[#forgotten + 1] = announced[i]
    end
  end
  if not latest then
    redis.call('UNLINK', names)
  else
    for i = 1, #forgotten, 1000 do
      redis.call('ZREM', names, unpack(forgotten, i, math.min(i + 999, #forgotten)))
    end
    redis.call('PEXPIREAT', names, string.format('%.0f', latest + 86400000))
  end
end
