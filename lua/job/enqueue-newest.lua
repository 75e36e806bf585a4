#!lua
-- Adds jobs of which some may change or end older ones: nothing -> pending, prioritized or scheduled. Adds the others as
-- job/enqueue does, which must not pay for this. See docs/internals/newest.md.
-- Transition: enqueue
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] max_pending, ARGV[12] max_pending_bytes ('' for no bound)
-- ARGV[13] when an event reports each new job: listened, always, off
-- ARGV[14..] for each job: id, name, payload, options ('' for a plain one, else JSON)
--   options: those of job/enqueue, and unique_max_delay in ms, beside unique_replace and delay_ms
-- Returns as job/enqueue does with options. Repeated: as there.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/write_job
local first_job, memory_ms = 14, 600000
local replaced = string.sub(job, 1, -5) .. 'replaced:'
local max_pending, max_pending_bytes, publish = tonumber(ARGV[11]), tonumber(ARGV[12]), ARGV[13]
local plain, replies, added, claimable = {}, {}, 0, false
--@include lib/enqueue/queue_settings
--@include lib/enqueue/add_with_options
--@include lib/enqueue/check_keys
--@include lib/enqueue/refusal
--@include lib/newest/bound_delay
local asked, keys, ranked, brings_limits = {}, {}, 0, false
for i = first_job, #ARGV, 4 do
  local options = ARGV[i + 3] ~= '' and cjson.decode(ARGV[i + 3])
  asked[#asked + 1], keys[#keys + 1] = options, job .. ARGV[i]
  ranked = ranked + (options and (options.group or options.priority) and 1 or 0)
  brings_limits = brings_limits or options and options.group_limits
end
local key_failure = check_keys(asked)
if key_failure then
  return key_failure
end
look_for(keys)
expect_ranks(brings_limits and 1 or ranked) -- the limits of a group remember the sequence
for i = 1, #keys do
  local reason, about = enqueue_refusal(ARGV[first_job + 4 * i - 4], asked[i])
  if reason then
    return { i, reason, about, '' }
  end
end
for i = 1, #keys do
  local at, options = first_job + 4 * i - 4, asked[i]
  local owner, since
  if options and options.unique_max_delay then
    owner, since = bound_delay(options)
  end
  local verdict, detail, known_name = add_with_options(ARGV[at], ARGV[at + 1], ARGV[at + 2], options)
  if owner and verdict == 'replace' and detail == owner then
    note_wait(owner, since)
  end
  if verdict then
    local n = #replies
    replies[n + 1], replies[n + 2], replies[n + 3], replies[n + 4] = i, verdict, detail, known_name or ''
  end
end
--@include lib/enqueue/place_added
return #replies > 0 and replies or nil
