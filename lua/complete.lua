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
-- ARGV[5..] for the jobs that one claim brought together: its token, how many follow; for each: id, fence, result (JSON,
--   or '' for none), ending ('1' for a plain job: a first attempt without options, which holds no unique key and left no
--   error; '' for another; or JSON where its handler or its options ask for more: plain, result_ttl_ms instead of ARGV[4]);
--   then the next such group
-- Returns the positions (from 1) of the claims that were lost: not current, and not completed by this very claim.
-- Repeated: the token is empty and the fence equal, so it counts as done and changes nothing.
local job, claims, completed, stats = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local unique, events = KEYS[5], KEYS[6]
local completed_history, fallen_ttl, publish, result_ttl = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local first_completion = 5
--@include lib/clock
--@include lib/events
--@include lib/history
--@include lib/read
--@include lib/complete_jobs
return lost
