#!lua
-- Appends chunks to the streams of running jobs, if their claims are current. An attempt that is not the first to write is
-- marked in the stream, or starts it anew. The oldest chunks leave beyond the most bytes, and beyond the most age.
-- See docs/internals/streams.md.
-- Transition: none
-- KEYS[1] job      prefix of the job hashes
-- KEYS[2] stream   prefix of the streams of jobs, also of their channels
-- KEYS[3] streams  sorted set
-- ARGV[1] publish (listened, always, off)
-- ARGV[2] the most bytes of a stream
-- ARGV[3] the most age of a chunk in ms
-- ARGV[4] '1' if a new attempt starts the stream anew
-- ARGV[5..] for each attempt: id, token, fence, number of the attempt, number of its first chunk here, how many chunks
--   follow, and for each: its kind (j: JSON, b: bytes in base64), its JSON
-- Returns nil if all claims were current, else the positions (from 1) of lost claims.
-- Repeated: the same, and adds no chunk twice.
local job, stream, streams = unpack(KEYS)
local publish, most_bytes, max_age, starts_anew = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local renewal = math.ceil(max_age / 8) -- how often the expiry is renewed, in ms
--@include lib/core/clock
--@include lib/core/read
--@include lib/stream/state
--@include lib/stream/oldest
--@include lib/stream/tell
local function write(id, token, fence, attempt, first, from, to)
  local current, stored = unpack(read(job .. id, 'claim_token', 'stream'))
  if current ~= token then
    return false
  end
  local key, state = stream .. id, state_of(stored)
  local told, trim, is_renewed = { prev = state.last }, nil, not stored or state.fence ~= fence
  if not stored then
    redis.call('UNLINK', key) -- of an earlier job with this id
  end
  -- Without an error an entry is there once. A stream with a later entry is of another job, because its state is not here.
  local function add(kind, value)
    state.number = state.number + 1
    state.last = string.format('%d', state.number) .. '-' .. now_text
    local field, added = attempt .. kind, nil
    if trim then
      added = redis.pcall('XADD', key, trim[1], '=', trim[2], state.last, field, value)
    else
      added = redis.pcall('XADD', key, state.last, field, value)
    end
    if type(added) == 'table' and added.err then
      redis.call('UNLINK', key)
      redis.call('XADD', key, state.last, field, value)
      state.bytes, state.oldest, is_renewed = 0, now, true
    end
    trim = nil
    state.bytes = state.bytes + #value + entry_bytes
    told[#told + 1] = { state.last, field, value }
  end
  if state.fence ~= fence then
    if state.fence and starts_anew then
      trim = { 'MAXLEN', 1 }
      state.bytes, state.oldest = 0, now
      add('r', '1')
    elseif state.fence then
      add('a', '1')
    end
    state.fence, state.done = fence, 0
  end
  -- Fewer than the worker has sent: Redis has lost the rest, and the numbers of these chunks stay free.
  local lost = math.max(0, first - 1 - state.done)
  state.number, state.done = state.number + lost, state.done + lost
  local skipped = state.done - (first - 1) -- these are there, because the call is a repeat
  trim = oldest_kept(key, state, bytes_of(from + 2 * skipped, to))
  for i = from + 2 * skipped, to, 2 do
    add(ARGV[i], ARGV[i + 1])
    state.done = state.done + 1
  end
  redis.call('HSET', job .. id, 'stream', text_of(state))
  -- A new attempt may be that of a job that was moved here without its stream.
  if is_renewed or math.floor(now / renewal) > math.floor(state.at / renewal) then
    redis.call('PEXPIRE', key, string.format('%d', max_age + renewal))
    redis.call('ZADD', streams, 'NX', now_text, id)
  end
  tell(key, told)
  return true
end

local lost, position, at = { nil }, 0, 5
while at <= #ARGV do
  local last = at + 5 + 2 * tonumber(ARGV[at + 5])
  position = position + 1
  if not write(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4]), at + 6, last) then
    lost[#lost + 1] = position
  end
  at = last + 1
end
return #lost > 0 and lost or nil
