-- Answers a completion whose claim is not current: it is lost, or a repeat. Not a function: see lua/attempt/complete.
-- Needs: batch_outbox, exceptions, fence, key, position.
--@include lib/core/read
local current, last_fence, status = unpack(read(key, 'claim_token', 'fence', 'status'))
local done_by_this_claim = current == '' and last_fence == fence and status == 'completed'
if not done_by_this_claim then
  exceptions[#exceptions + 1] = position
elseif batch_outbox and redis.call('HLEN', batch_outbox) > 0 then
  exceptions[#exceptions + 1] = 0
end
