-- now: the server's time in ms. No script takes the time from a client.
-- now_text: the same as text, from the digits of seconds and microseconds. TIME omits leading zeros of the latter.
-- redis.call and .. would write a number as a float, which costs more than the rest of the call. string.format('%d')
--   does not, so hot paths use it for every computed number.
local time = redis.call('TIME')
local now_text = time[1] .. string.sub('00000' .. time[2], -6, -4)
local now = tonumber(now_text)
