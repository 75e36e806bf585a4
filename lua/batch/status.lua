#!lua flags=no-writes,allow-oom
-- Returns the progress of a batch.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- Returns nil for an unknown batch, else the number of open members, then these fields or nil: created_at_ms,
--   sealed_at_ms, stopped_at_ms, fired_at_ms, ended_at_ms, total, completed, failed, cancelled, removed. Then for then,
--   on_failure and finally: its place and 1 if it waits in the outbox, else 0. Its place is nil without one, '' for this
--   queue, or another queue, a tab and its id. Repeated: reads again.
--@include lib/core/keys
--@include lib/batch/read_batch
return read_batch(ARGV[1])
