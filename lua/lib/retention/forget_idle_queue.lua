-- forget_idle_queue(): deletes the sweep's memory and the workers' announcements, if no worker serves the queue and no
-- job is left.
-- Needs: lib/core/keys.
--@include lib/retention/forget_names
--@include lib/signal/parked
local function forget_idle_queue()
  local used = redis.call('EXISTS', pending, prioritized, scheduled, claims, processing, dead, completed, cancelled,
    ended_ids, kept_results, workers, schedule_due, groups .. 'depths', batches, remote_members, batch_outbox)
  if used == 0 then
    redis.call('UNLINK', sweep, foreign_claims, handler_limits, retention, wake, error_kinds, awaiting_signals)
    forget_names()
  end
end
