-- Hands over again what the claim with this token brought, as far as it is still claimed by it: from the memory of the batch,
-- which is the token, then a line for each id, with the verdict behind a tab where there is one.
-- No function, since that would bind what it needs: read, hand_over, job, token, last.
for id, verdict in string.gmatch(last, '\n([^\n\t]+)\t?([^\n]*)') do
  local current, name, payload, attempts, fence, enqueued_at, options, held = unpack(read(job .. id,
    'claim_token', 'name', 'payload', 'attempts', 'fence', 'enqueued_at_ms', 'options', 'held'))
  if current == token then
    hand_over(id, name, payload, enqueued_at,
      { tonumber(attempts) or 0, options, verdict, held == fence, tonumber(fence) or 0 })
  end
end
