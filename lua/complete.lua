#!lua flags=allow-oom
-- Ends claims well: processing -> completed. The hot half of settle; fail and release are the others.
-- KEYS[1] job        prefix of the job hashes
-- KEYS[2] claims     sorted set
-- KEYS[3] completed  list
-- KEYS[4] stats      hash
-- KEYS[5] unique     hash
-- KEYS[6] events     channel
-- ARGV[1] completed_history in ids; ARGV[2] fallen_ttl in ms; ARGV[3] publish (listened, always, off)
-- ARGV[4] result_ttl in ms
-- ARGV[5..] for each job: id, token, fence, result (JSON, or '' for none), own result_ttl in ms ('' for ARGV[4]), plain
--   ('1' for a first attempt without options: it holds no unique key and left no error)
-- Returns the indexes (from 1) of the claims that were lost: not current, and not completed by this very claim.
-- Repeated: the token is empty and the fence equal, so it counts as done and changes nothing.
local job, claims, completed, stats, unique, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local completed_history, fallen_ttl, publish, result_ttl = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
--@include lib/clock
--@include lib/events
--@include lib/history
--@include lib/read
--@include lib/complete_jobs
return complete_jobs(5)
