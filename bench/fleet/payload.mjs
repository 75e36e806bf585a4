// The payloads of all contestants: the same objects, about 40, 60, 200 and 1,000 bytes of JSON. Redis stores a field
// compactly up to 64 bytes (hash-max-listpack-value). The first two sizes stay below that for every number, the others
// do not.

const filler = Array.from({ length: 47 }, (_, i) => `line ${String(i).padStart(3, '0')} of a body`).join('\n');
const bodies = { medium: filler.slice(0, 130), large: filler };

/**
 * Returns one payload. The worker checks by `n` that each job ran exactly once. `t` is the instant of its enqueue on
 * the machine's monotonic clock, for latency.
 */
export function payload(n, size = 'small') {
  const t = monotonicUs();
  if (size === 'tiny') return { n, t, to: 'ada' };
  const small = { n, t, to: 'ada@mail.io', kind: 'bill' };
  return size === 'small' ? small : { ...small, body: bodies[size] };
}

/** Returns the microseconds of the monotonic clock, which all processes of one machine share. */
export function monotonicUs() {
  return Math.round(Number(process.hrtime.bigint()) / 1000);
}
