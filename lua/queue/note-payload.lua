#!lua flags=allow-oom
-- Notes the limit of a producer, before it sends a payload that a worker with a lower limit would refuse.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the producer's maxPayloadBytes
-- Returns nothing. Repeated: the same.
--@include lib/core/keys
--@include lib/limits/largest
note_largest('largest_payload_bytes', tonumber(ARGV[1]))
