-- forget_queue(seen, stay): deletes what an empty queue needs no more. The announcements of workers get an expiry of
--   `stay` ms instead if a worker was seen within `seen` ms. A job of its next claim may outlive them.
-- Needs: lib/core/clock, lib/core/keys.
--@include lib/retention/forget_names
--@include lib/signal/parked
local function forget_queue(seen, stay)
  redis.call('UNLINK', ended_ids, unique, unique_expiries, wake, sweep, foreign_claims, error_kinds, awaiting_signals)
  if redis.call('ZCOUNT', workers, now - seen, '+inf') == 0 then
    redis.call('UNLINK', workers, handler_limits, retention)
    forget_names()
  else
    for _, key in ipairs({ workers, handler_limits, retention, names }) do
      redis.call('PEXPIRE', key, stay)
    end
  end
end
