-- batches_by_age: sorted set, the batches that have not ended, for lists; score = when they were created, in ms.
-- Needs: batches.
local batches_by_age = batches .. '_by_age'
