#!lua flags=allow-oom
-- Claims up to count jobs: pending -> processing, with token, fence, attempt and expiry in one step. First promotes due
-- jobs. One claim in ten takes a plain job, and one in ten a job of any priority. So no job starves. A payload of more
-- than 32 MiB, and of more than twice the largest announced maxPayloadBytes, is not loaded.
-- Transition: claim
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] pending      list
-- KEYS[3] prioritized  sorted set
-- KEYS[4] scheduled    sorted set
-- KEYS[5] claims       sorted set
-- KEYS[6] wake         sorted set
-- KEYS[7] settings     hash
-- KEYS[8] sequence     string
-- KEYS[9] batch        string, the last batch of this claimer
-- KEYS[10] groups      prefix of the keys of groups
-- KEYS[11] sweep       hash
-- and if it takes only jobs whose names it handles:
-- KEYS[12] names       sorted set
-- KEYS[13] workers     sorted set
-- ARGV[1] count
-- ARGV[2] visibility in ms
-- ARGV[3] token, new for each request, the same for its repeat
-- ARGV[4] worker
-- ARGV[5] max_attempts of jobs without their own
-- ARGV[6] how many start at once, if the claimer calls start for later ones and runs isolated jobs alone; else ''. Up to two
--   numbers follow, each behind a colon. The first is how many jobs of a group it runs together. A group then has as many
--   turns in a row. The second is how many more jobs may wait in the claimer for their start. They count for all limits
-- ARGV[7] the most bytes of payload to return, or '' for no bound; the first job comes in any case
-- ARGV[8] '1' if the claimer is a worker that configures limits, '0' for another worker; else ''. A worker takes nothing,
--   and announces itself, while the limits in force are those of a worker that has stopped. One that configures limits
--   also does so while Redis knows no limits of any worker
-- ARGV[9] the maxPayloadBytes of a claimer that announces nothing, if this or its visibility is longer than usual; else ''
-- ARGV[10..] by job name: name, max_attempts. With names these are all names that it handles, preceded by:
--   where to search for their jobs (see lib/place/take_named; -1: at the ends only)
--   how long a job waits for a worker of its name before it must not run, in ms (0: without a limit)
--   how long ago a worker may have been seen and still counts, in ms
-- Returns now in ms, the wait, the fence of the first job (each further one is higher by 1), then for each job: id,
--   name, payload, enqueued_at_ms, details.
--   wait: ms until the next job is claimable by its due time or a limit; nil for none; full if the bytes were used up
--     and more jobs wait; unannounced if no limits of a worker are known: announce them with register, then claim again
--   name: nil for that of the previous job; '' for none
--   details: nil for a first attempt of a plain job that starts at once, or its options if it has metadata
--   else an array: attempts, options, verdict, whether it waits for start (grouped: and its only option is a group); with
--     a checkpoint: nil, that (JSON)
--   verdict: '' to run it; isolated: to run it alone; expires: start decides whether it may still run
--   or why it must not run, see lib/settle/refusal: missing, oversized, cancelled, unmet, expired, exhausted, unhandled; the
--     claimer settles it as failed
--   In a repeated call: an array for each, with its fence at the end
--   After all jobs: limited if the queue or a group met has limits, or awaits-slots if jobs wait there for a slot; grouped
--     if it has groups, and no limit was met
--   In a Cluster then unheard (after nil without limits) if the claimer got less than it asked for, and no wake reaches it
--   With names an array: all of that, the next place to search (-1: all jobs were read), 1 if a live worker handles a
--     job that was left, then the names of left jobs that no live worker handles
-- Repeated with the same token: the same jobs, if that claim still holds them. With fewer bytes: as many as these
--   allow. The others, which the claimer never saw, go back to the front.
local job, pending, prioritized, scheduled, claims, wake, settings, sequence, batch, groups, sweep, names, workers =
  unpack(KEYS)
local count, visibility, token, worker = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local slots, most_bytes, turns_in_row, to_wait = tonumber(ARGV[6]), tonumber(ARGV[7]) or math.huge, 1, 0
if not slots and ARGV[6] ~= '' then
  slots, turns_in_row, to_wait = unpack(cjson.decode('[' .. string.gsub(ARGV[6], ':', ',') .. ']'))
  to_wait = to_wait or 0
end
local configures_limits, giant_bytes, first_limit = ARGV[8] == '1', 33554432, names and 13 or 10
--@include lib/core/clock
--@include lib/core/read
if ARGV[9] ~= '' then
--@include lib/limits/largest
  note_largest('longest_visibility_ms', visibility)
  note_largest('largest_payload_bytes', tonumber(ARGV[9]))
end
-- The nils reserve room for one job, because a growing table costs as much again.
local reply, replied, name_before = { now, false, 0, nil, nil, nil, nil, nil }, 3, nil
local function hand_over(id, name, payload, enqueued_at, rest)
  name = name or ''
  reply[replied + 1], reply[replied + 2], reply[replied + 3] = id, name ~= name_before and name, payload
  reply[replied + 4], reply[replied + 5] = enqueued_at, rest
  replied, name_before = replied + 5, name
end

--@limited lib/permits/units
local last = redis.call('GET', batch)
local ids, more, overdue, report_left, limited_by = {}, false, nil, nil, nil
local bytes, full, known_jobs = 0, false, nil
if last and string.sub(last, 1, #token + 1) ~= token .. '\n' then
  last = false -- of another claim
end
if not (last or names or configures_limits) and redis.call('EXISTS', settings, scheduled, prioritized) == 0 then
  ids = redis.call('RPOP', pending, ARGV[1]) or ids
  more = #ids == count and redis.call('LLEN', pending) > 0
--@limited lib/permits/cut_plain
else
  -- Included here, and not above, so that a queue of plain jobs does not pay for it.
--@include lib/core/now_us
--@include lib/limits/rate
  if last then
--@include lib/settle/repeated_claim
  else
--@include lib/limits/slots_and_rate
    if configures_limits and not limits_owner or limits_owner == '' and ARGV[8] ~= '' then
      reply[2] = 'unannounced'
    else
--@include lib/core/rank
--@include lib/place/claim_waiting
    end
  end
end

--@cluster lib/waiters/leave
if #ids > 0 then
--@include lib/settle/claim_ids
end
--@cluster lib/waiters/join
local left = report_left and report_left()
if (#ids > 0 or ids.is_cut) and (more or full) or left and left[2] == 1 then -- or another worker handles what was left
--@include lib/core/wake
end
reply[2] = full and 'full' or reply[2]
--@limited lib/permits/tell_short
if limited_by then
  reply[replied + 1] = limited_by -- a nil would grow the table too
end
return names and { reply, unpack(left or { -1, 0 }) } or reply
