-- emit(id, status, message, field, content): publishes {"id","status","name","attempt"} if events are listened to. Adds
--   the error's message up to 1,000 bytes, and `content` (JSON, up to 2,000 bytes) as `field`.
-- Needs: events, job, lib/core/listened.
local function emit(id, status, message, field, content)
  if not listened then
    return
  end
  if message and #message > 1000 then
    message = string.gsub(string.sub(message, 1, 1000), '[\192-\255][\128-\191]*$', '') -- cut at the end of a character
  end
  local name, attempts = unpack(redis.call('HMGET', job .. id, 'name', 'attempts'))
  local event = cjson.encode({ id = id, status = status, name = name or nil, attempt = tonumber(attempts or nil),
    error = message })
  if content and #content <= 2000 then
    event = string.sub(event, 1, -2) .. ',"' .. field .. '":' .. content .. '}'
  end
  redis.call('PUBLISH', events, event)
end
