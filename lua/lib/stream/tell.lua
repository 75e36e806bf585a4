-- tell(key, told): publishes new entries on the channel of a stream, if somebody listens: {"prev","entries"}. prev is the id
--   of the entry before. More than 65,536 bytes are left out, and readers read them.
-- Needs: publish, lib/stream/state.
local function tell(key, told)
  if not told[1] or publish == 'off' or publish ~= 'always' and redis.call('PUBSUB', 'NUMSUB', key)[2] == 0 then
    return
  end
  local bytes, texts = 0, {}
  for i, entry in ipairs(told) do
    bytes = bytes + #entry[3] + entry_bytes
    texts[i] = '["' .. entry[1] .. '","' .. entry[2] .. '",' .. entry[3] .. ']'
    if bytes > 65536 then
      texts = {}
      break
    end
  end
  -- A user without the channel writes all the same. Readers then find the chunks by their looks.
  redis.pcall('PUBLISH', key, '{"prev":"' .. told.prev .. '","entries":[' .. table.concat(texts, ',') .. ']}')
end
