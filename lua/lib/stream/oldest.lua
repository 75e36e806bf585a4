-- bytes_of(from, to): returns the bytes that the chunks of these arguments take as entries.
-- oldest_kept(key, state, added): returns how an XADD trims the stream, so that `added` more bytes fit, or nil. Takes the
--   bytes of the entries that leave from the state. At most 640 leave, so that a step has a bound. The next call goes on.
-- Needs: max_age, most_bytes, lib/core/clock, lib/stream/state.
local function bytes_of(from, to)
  local bytes = 0
  for i = from, to, 2 do
    bytes = bytes + #ARGV[i + 1] + entry_bytes
  end
  return bytes
end

local function oldest_kept(key, state, added)
  local least, start, kept = now - max_age, '-', nil
  if added == 0 or state.bytes + added <= most_bytes and state.oldest >= least then
    return nil
  end
  for _ = 1, 40 do
    local entries = redis.pcall('XRANGE', key, start, '+', 'COUNT', 16)
    for _, entry in ipairs(entries) do
      local number, at = string.match(entry[1], '^(%d+)%-(%d+)$')
      state.oldest = tonumber(at)
      if state.bytes + added <= most_bytes and state.oldest >= least then
        return kept and { 'MINID', entry[1] }
      end
      state.bytes = math.max(0, state.bytes - #entry[2][2] - entry_bytes)
      kept = string.format('%d', tonumber(number) + 1) .. '-0'
    end
    if #entries < 16 then
      state.bytes, state.oldest = 0, now
      break
    end
    start = kept
  end
  return kept and { 'MINID', kept }
end
