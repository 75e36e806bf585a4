-- parked_until(key): returns when a job with open waits goes on, in ms. That is now if a signal of them is there. Else it is the first
--   end of a wait, or the expiry of the job. Without either it is the year 9999. Returns nil without an open wait.
-- Needs: lib/core/clock, lib/core/never, lib/core/read.
--@include lib/signal/parked
--@include lib/signal/waits

local function parked_until(key)
  local waits, signals, expires_at = unpack(read(key, 'waits', 'signals', 'expires_at_ms'))
  local due
  for _, wait in ipairs(waits_of(waits)) do
    if wait.state == '' then
      local has_come = wait.kind == 'signal' and signal_of(signals, wait.name)
      local ends_at = has_come and now or tonumber(wait.until_at) or never_ms
      due = math.min(due or tonumber(expires_at or nil) or never_ms, ends_at)
    end
  end
  return due
end
