-- Names the standard keys. Every script outside the hot path (enqueue, claim, complete, extend) gets this list in this
-- order. It is `STANDARD_KEYS` of src/queue/validation/key-table.ts.
local job = KEYS[1] -- prefix of the job hashes
local pending = KEYS[2] -- list
local prioritized = KEYS[3] -- sorted set, score = rank
local scheduled = KEYS[4] -- sorted set, score = due time in ms
local claims = KEYS[5] -- sorted set, score = claim expiry in ms
local processing = KEYS[6] -- list, claims of clients that follow the Redis pattern
local completed = KEYS[7] -- list, history
local failed = KEYS[8] -- list, history
local cancelled = KEYS[9] -- list, history
local dead = KEYS[10] -- sorted set, dead letters, score = time of failure in ms
local unique = KEYS[11] -- hash, unique key -> id of its owner
local unique_expiries = KEYS[12] -- sorted set, unique keys held for a time, score = end in ms
local stats = KEYS[13] -- hash, counters
local sequence = KEYS[14] -- string, counter behind fences and ranks
local wake = KEYS[15] -- sorted set, the marker that wakes one idle worker
local events = KEYS[16] -- channel
local settings = KEYS[17] -- hash, what applies to all workers: a pause, the limits of the queue and what they have learned
local sweep = KEYS[18] -- hash, the sweep's memory between runs
local workers = KEYS[19] -- sorted set, workers that serve the queue, score = last seen in ms
local foreign_claims = KEYS[20] -- sorted set, foreign claims as the sweep saw them, score = first seen in ms
local handler_limits = KEYS[21] -- hash, job name -> max_attempts:max_crashes of its handler, as its workers announced
local schedule_due = KEYS[22] -- sorted set, schedules, score = next due time in ms; +inf while one rests
local schedule_owners = KEYS[23] -- sorted set, schedules that code declares, score = when it last did in ms
local schedule = KEYS[24] -- prefix of the schedule hashes
local retention = KEYS[25] -- hash, '' -> the limits of the queue as the workers announced them, see lib/retention/announced_queue_limits
local names = KEYS[26] -- sorted set, job names, score = when a worker last announced a handler for it in ms
local nudge = KEYS[27] -- prefix of the keys that reach one worker, followed by its id
-- sorted set, batches of this queue with a follow-up, score = the next check by the sweep in ms
local batches = KEYS[28]
local batch_record = KEYS[29] -- prefix of a batch's keys, see docs/internals/batches.md
local remote_members = KEYS[30] -- hash, id of an open job here -> its batch in another queue: queue, tab, batch
local batch_outbox = KEYS[31] -- hash, queue, batch and id, with tabs between, -> the end of that job here, until its batch has it
local awaiting = KEYS[32] -- sorted set, jobs that wait for others to end, score = since when in ms
local groups = KEYS[33] -- prefix of the keys of groups, see docs/internals/groups.md
local error_kinds = KEYS[34] -- hash, kind of error -> its count among the dead letters, see lib/kind/change_kind
local ended_ids = KEYS[35] -- sorted set, ids that callers gave to jobs which have ended, score = until when in ms, see lib/ids/remember
local kept_results = KEYS[36] -- sorted set, ended jobs whose records are kept until they were read, score = the next look in ms
