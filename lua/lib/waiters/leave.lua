-- Takes the claimer out of the queue's waiters if this claim may have filled its slots. Its next claim decides again.
-- Only for a Cluster.
-- Needs: ids, wake, worker.
if #ids >= tonumber(ARGV[1]) then
  redis.pcall('ZREM', string.sub(wake, 1, -5) .. 'waiters', worker)
end
