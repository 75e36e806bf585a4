-- charge(taken, bytes): pays for jobs without a group. Jobs beyond the bytes of the claim, or beyond the rate, go back to
--   the front. A job beyond the bytes is not paid for. The first job of a claim is never too large.
-- bytes: of the jobs of groups in the claim; nil if it has none. Then lib/settle/claim_ids can cut a claim without a rate.
-- Needs: full, job, most_bytes, lib/limits/slots_and_rate.
--@include lib/limits/cost_of
local function charge(taken, bytes)
  local is_first = bytes == nil
  if is_first and not rate then
    return
  end
  bytes = bytes or 0
  for from, id in ipairs(taken) do
    bytes = bytes + (tonumber(redis.pcall('HSTRLEN', job .. id, 'payload')) or 0)
    local is_beyond = bytes > most_bytes and not (is_first and from == 1)
    if is_beyond or rate and not pay(cost_of(id)) then
      full = full or is_beyond
--@include lib/place/put_back
      return
    end
  end
end
