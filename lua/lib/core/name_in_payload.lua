-- name_in_payload(key): the name of a job whose producer, a client of the Redis pattern, stored none: the kind of its payload.
-- nil where it has none, or where the payload is long, so that the cost has a bound. Needs: read.
local function name_in_payload(key)
  local payload = read(key, 'payload')[1]
  local read_well, decoded = pcall(cjson.decode, payload and #payload <= 4096 and payload or '')
  local name = read_well and type(decoded) == 'table' and decoded.kind
  return type(name) == 'string' and name ~= '' and name or nil
end
