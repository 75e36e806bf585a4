-- Raises giant_bytes to twice the largest maxPayloadBytes that a worker or producer of the queue has announced. Included
--   only where a payload is larger than giant_bytes, so that other jobs do not pay for it.
-- A key of a wrong type counts as none. An error here would lose the jobs that were just taken.
-- Needs: giant_bytes, sweep.
giant_bytes = math.max(giant_bytes, 2 * (tonumber(redis.pcall('HGET', sweep, 'largest_payload_bytes') or nil) or 0))
