-- Tells the worker of a claimed job that a cancel was asked for, over its channel. Only for a Cluster.
-- Needs: worker, lib/core/keys.
redis.pcall('SPUBLISH', wake .. ':' .. worker, 'cancel')
