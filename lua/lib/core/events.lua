-- emit(id, status, message, field, content): publishes {"id","status","name","attempt"}. Adds the error's message up to
--   1,000 bytes, and `content` (JSON, up to 2,000 bytes) as `field`. With publish = 'listened' it does so only with a
--   subscriber.
-- with_results: whether results are published too, as with publish = 'listened+results'.
-- Needs: job, events, publish.
local with_results = string.sub(publish, -8) == '+results'
local publish_mode = with_results and string.sub(publish, 1, -9) or publish
local listened = publish_mode == 'always'
if publish_mode == 'listened' then
  listened = redis.call('PUBSUB', 'NUMSUB', events)[2] > 0 or redis.call('PUBSUB', 'NUMPAT') > 0
end

-- Cut at the end of a character.
local function short_message(text)
  return #text <= 1000 and text or (string.gsub(string.sub(text, 1, 1000), '[\192-\255][\128-\191]*$', ''))
end

local function emit(id, status, message, field, content)
  if not listened then
    return
  end
  local name, attempts = unpack(redis.call('HMGET', job .. id, 'name', 'attempts'))
  local event = cjson.encode({ id = id, status = status, name = name or nil, attempt = tonumber(attempts or nil),
    error = message and short_message(message) })
  if content and #content <= 2000 then
    event = string.sub(event, 1, -2) .. ',"' .. field .. '":' .. content .. '}'
  end
  redis.call('PUBLISH', events, event)
end
