-- streams: sorted set, the jobs that have a stream, score = the next look in ms.
-- stream: prefix of the streams of jobs.
-- forget_stream(id): deletes the stream of a job.
-- Needs: lib/core/keys.
local stream, streams = string.sub(job, 1, -5) .. 'stream:', string.sub(job, 1, -5) .. 'streams'
local function forget_stream(id)
  redis.call('UNLINK', stream .. id)
  redis.call('ZREM', streams, id)
end
