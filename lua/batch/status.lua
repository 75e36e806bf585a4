#!lua flags=no-writes,allow-oom
-- Returns the progress of a batch.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- Returns nil where it is not known, else how many members are open, then these fields of the batch or nil: created_at_ms,
--   sealed_at_ms, stopped_at_ms, fired_at_ms, ended_at_ms, total, completed, failed, cancelled, removed. Repeated: looks again.
--@include lib/core/keys
--@include lib/batch/look
return look(ARGV[1])
