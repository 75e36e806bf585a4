#!lua flags=allow-oom
-- Completes jobs and claims others in one step: what a busy worker asks for after each batch. The same as complete and
-- claim, with one call's cost.
-- KEYS[1] job           prefix of the job hashes
-- KEYS[2] pending       list
-- KEYS[3] prioritized   sorted set
-- KEYS[4] scheduled     sorted set
-- KEYS[5] claims        sorted set
-- KEYS[6] wake          sorted set
-- KEYS[7] settings      hash
-- KEYS[8] sequence      string
-- KEYS[9] batch         string, the last batch of this claimer
-- KEYS[10] completed    list
-- KEYS[11] stats        hash
-- KEYS[12] unique       hash
-- KEYS[13] events       channel
-- ARGV[1..6] as in claim.lua; ARGV[7..10] the first four of complete.lua; ARGV[11] how many arguments the limits have
-- ARGV[12..] by job name: name, max_attempts; then the jobs to complete, in groups as in complete.lua
-- Returns what complete.lua returns, then what claim.lua returns.
-- Repeated with the same token: each part answers as it does alone.
local job, pending, prioritized, scheduled, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local wake, settings, sequence, batch = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local completed, stats, unique, events = KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local count, visibility, token, worker = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local completed_history, fallen_ttl, publish, result_ttl = tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]
local isolates, first_limit, last_limit = ARGV[6] == '1', 12, 11 + tonumber(ARGV[11])
local first_completion = last_limit + 1
--@include lib/clock
--@include lib/read
--@include lib/events
--@include lib/history
-- In this order the set of claims does not become empty in between, which would delete it and make it anew.
--@include lib/claim_jobs
--@include lib/complete_jobs
return { lost, reply }
