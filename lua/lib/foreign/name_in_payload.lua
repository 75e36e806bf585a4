-- name_in_payload(key): returns the name of a job from its payload. A client of the Redis pattern stored it there, as
--   its kind. nil without a kind, or for a long payload, so that the cost is bounded.
-- Needs: lib/core/read.
local function name_in_payload(key)
  local payload = read(key, 'payload')[1]
  local read_well, decoded = pcall(cjson.decode, payload and #payload <= 4096 and payload or '')
  local name = read_well and type(decoded) == 'table' and decoded.kind
  return type(name) == 'string' and name ~= '' and name or nil
end
