-- now: the server's time in ms. No script ever takes the time from a client.
-- text(number): a whole number as text, exact and without the detour through a float's digits that redis.call and ..
-- take: worth it wherever it is done for each job.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(number)
  return string.format('%d', number)
end
local now_text = text(now)
