-- now: the server's time in ms. No script ever takes the time from a client.
-- now_text: the same as text. redis.call and .. would write a number as a float's digits, which costs more than the
-- rest of the call; string.format('%d') does not, so hot paths use it for every number.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local now_text = string.format('%d', now)
