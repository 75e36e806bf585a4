-- now_us: the time in microseconds of the server.
-- Needs: lib/core/clock.
local now_us = tonumber(time[1]) * 1e6 + tonumber(time[2])
