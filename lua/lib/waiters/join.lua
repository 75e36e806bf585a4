-- Makes the claimer a waiter of the queue if it got less than it asked for. Its process must listen on this master. If the
-- server counts no subscriber of its channel, the reply says unheard, behind the place of the limits.
-- `replied` counts five values for each job, and three at the start. The claimer registers again each minute, so older
-- waiters are gone. A bad key must not fail a claim that has written. Only for a Cluster.
-- Needs: full, replied, reply, wake, worker, lib/core/clock.
if (replied - 3) / 5 < tonumber(ARGV[1]) and not full then
  local listening = redis.pcall('PUBSUB', 'SHARDNUMSUB', wake .. ':' .. worker)
  if (listening[2] or 0) > 0 then
    local waiters = string.sub(wake, 1, -5) .. 'waiters'
    redis.pcall('ZADD', waiters, now_text, worker)
    redis.pcall('ZREMRANGEBYSCORE', waiters, '-inf', string.format('%d', now - 150000))
    redis.pcall('PEXPIRE', waiters, '300000')
  else
    reply[replied + 1], reply[replied + 2] = false, 'unheard'
  end
end
