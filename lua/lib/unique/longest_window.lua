-- longest_window(): returns the longest unique window in ms that an enqueue of this queue has asked for.
-- note_window(window): stores a longer one, with its first use. A wrong key type must not break an enqueue off midway.
-- Needs: sweep.
local function longest_window()
  local noted = redis.pcall('HGET', sweep, 'longest_window_ms')
  return type(noted) == 'string' and tonumber(noted) or math.huge
end

local function note_window(window)
  local noted = longest_window()
  if noted == math.huge or window > noted then
    redis.pcall('HSET', sweep, 'longest_window_ms', string.format('%d', window))
  end
end
