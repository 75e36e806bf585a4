-- Names the retention arguments, which come first in every script that can end a job. Announced limits override them.
--@include lib/retention/announced_queue_limits
local failed_history = announced.failed_history or tonumber(ARGV[1]) -- ids
local cancelled_history = announced.cancelled_history or tonumber(ARGV[2]) -- ids
local dead_letter_cap = announced.dead_letter_cap or tonumber(ARGV[3]) -- dead letters
-- ms, the life of a completed job's hash without its own limit
local result_ttl = announced.result_ttl or tonumber(ARGV[4])
local cancelled_ttl = announced.cancelled_ttl or announced.result_ttl or tonumber(ARGV[5]) -- ms, the same of a cancelled job's
local evicted_ttl = ARGV[6] -- ms, the life left to a hash whose id fell off its history
local publish = ARGV[7] -- when events are published: listened, always, off
local default_max_attempts = tonumber(ARGV[8]) -- if neither the job nor its handler has its own
local default_max_crashes = tonumber(ARGV[9])
local remembered_ids = announced.remembered_ids or tonumber(ARGV[10]) -- ids of ended jobs that callers gave
local first = 11 -- the index of the script's own arguments
