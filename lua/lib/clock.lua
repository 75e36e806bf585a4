-- now: the server's time in milliseconds. No script ever takes the time from a client.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
