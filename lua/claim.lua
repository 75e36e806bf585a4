#!lua flags=allow-oom
-- Claims up to count jobs: pending -> processing, with token, fence, attempt and expiry in one step.
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] pending      list
-- KEYS[3] prioritized  sorted set
-- KEYS[4] scheduled    sorted set
-- KEYS[5] claims       sorted set
-- KEYS[6] wake         sorted set
-- KEYS[7] settings     hash
-- KEYS[8] sequence     string
-- KEYS[9] batch        string, the last batch of this claimer
-- ARGV[1] count; ARGV[2] visibility in ms; ARGV[3] token, new for each request, the same when it is repeated
-- ARGV[4] worker; ARGV[5] max_attempts where the job has none of its own; ARGV[6] '1' where the claimer runs a job on its
--   last chance alone, and says by start what begins after a wait; ARGV[7..] by job name: name, max_attempts
-- Returns now in ms; ms until the next scheduled job is due, or -1; then for each job: id, name, payload, fence,
--   enqueued_at_ms, and nil for a first attempt without options that may run, else an array: attempts, options, verdict
--   ('' to run it; alone: run it alone, it is held until start; expires: where it waits before it begins, only start says
--   whether it still may; or why it must not run, see lib/refuse: missing, cancelled, expired, exhausted; the claimer
--   settles it as failed).
-- Repeated with the same token: the same jobs, as far as they are still claimed by it.
local job, pending, prioritized, scheduled, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local wake, settings, sequence, batch = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local count, visibility, token, worker = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local isolates, first_limit, last_limit = ARGV[6] == '1', 7, #ARGV
--@include lib/clock
--@include lib/read
--@include lib/claim_jobs
return reply
