-- state_of(stored): returns what the field stream of a job's hash tells, or the state before the first chunk. The field is
--   fence, done, last, bytes, oldest with spaces between. The fence is of the attempt that wrote last, and done is how many
--   chunks that attempt has written. last is the id of the last entry: its number, a hyphen, and its time in ms. bytes are of
--   all entries. oldest is the time of the oldest entry in ms, or earlier.
-- text_of(state): returns the field.
-- entry_bytes: what an entry takes beside its value.
-- Needs: lib/core/clock.
local entry_bytes = 32

local function state_of(stored)
  local fence, done, number, at, bytes, oldest =
    string.match(stored or '', '^(%d+) (%d+) (%d+)%-(%d+) (%d+) (%d+)$')
  if not fence then
    return { done = 0, number = 0, last = '0-0', at = 0, bytes = 0, oldest = now }
  end
  return { fence = fence, done = tonumber(done), number = tonumber(number), last = number .. '-' .. at,
    at = tonumber(at), bytes = tonumber(bytes), oldest = tonumber(oldest) }
end

local function text_of(state)
  return table.concat({ state.fence, string.format('%d', state.done), state.last, string.format('%d', state.bytes),
    string.format('%d', state.oldest) }, ' ')
end
