#!lua
-- Adds jobs of which some may change or end older ones: nothing -> pending, prioritized or scheduled. Adds the others as
-- job/enqueue does, which must not pay for this. See docs/internals/newest.md.
-- Transition: enqueue
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] max_pending, ARGV[12] max_pending_bytes ('' for no bound)
-- ARGV[13] when an event reports each new job: listened, always, off
-- ARGV[14] the queue
-- ARGV[15] '1' if a full queue or group drops its oldest waiting job, else ''
-- ARGV[16..] for each job: id, name, payload, options ('' for a plain one, else JSON)
--   options: those of job/enqueue, and for a unique key:
--     unique_max_delay: in ms, beside unique_replace and delay_ms
--     unique_newest: the job ends the one that waits with its key
--     unique_stop: the job stops the one that runs with its key, and starts after its end
-- Returns as job/enqueue does with options. Repeated: as there.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/write_job
local max_pending, max_pending_bytes, memory_ms = tonumber(ARGV[11]), tonumber(ARGV[12]), 600000
local replaced = string.sub(job, 1, -5) .. 'replaced:'
local plain, replies, added, claimable = {}, {}, 0, false
--@include lib/enqueue/queue_settings
--@include lib/enqueue/add_with_options
--@include lib/enqueue/check_keys
--@include lib/enqueue/refusal
--@include lib/retention/add_to_history
--@include lib/settle/finish
--@include lib/newest/add_newest
--@include lib/newest/drop_oldest
local asked, checked, keys, ranked, brings_limits = {}, {}, {}, 0, false
for i = first + 5, #ARGV, 4 do
  local options = ARGV[i + 3] ~= '' and cjson.decode(ARGV[i + 3])
  local n = #keys + 1
  asked[n], checked[n], keys[n] = options, as_replacing(options), job .. ARGV[i]
  ranked = ranked + (options and (options.group or options.priority) and 1 or 0)
  brings_limits = brings_limits or options and options.group_limits
end
local key_failure = check_keys(checked) or check_end_keys()
if key_failure then
  return key_failure
end
look_for(keys)
expect_ranks(brings_limits and 1 or ranked) -- the limits of a group remember the sequence
for i = 1, #keys do
  local reason, about = enqueue_refusal(ARGV[first + 1 + 4 * i], asked[i])
  if reason then
    return { i, reason, about, '' }
  end
end
listen_for(ARGV[13])
local add = ARGV[15] == '1' and add_dropping or add_newest
for i = 1, #keys do
  local at = first + 1 + 4 * i
  local verdict, detail, known_name = add(ARGV[at], ARGV[at + 1], ARGV[at + 2], asked[i])
  if verdict then
    local n = #replies
    replies[n + 1], replies[n + 2], replies[n + 3], replies[n + 4] = i, verdict, detail, known_name or ''
  end
end
--@include lib/enqueue/place_added
return #replies > 0 and replies or nil
