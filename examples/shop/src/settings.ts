/** What the environment says; `main.ts` puts its flags there, so that the workers that it starts have the same. */
export const settings = {
  /** The queue of the four kinds of jobs of the control page. */
  queue: process.env.SHOP_QUEUE || 'jobs',
  /** How long a claim lasts, in ms: short, so that one can watch it run out. */
  visibilityMs: Number(process.env.SHOP_VISIBILITY_MS || 5_000),
  /** How often expired claims are taken back, in ms; 0: only when asked. */
  reclaimMs: Number(process.env.SHOP_RECLAIM_MS || 5_000),
  /** How many jobs of the queue a process runs at once. */
  concurrency: Number(process.env.SHOP_CONCURRENCY || 10),
  /** Whether this process works, or only serves HTTP. */
  works: process.env.SHOP_WORKS !== 'no',
  /** A Redis that was started for this run alone need not outlive a crash: nothing to warn of. */
  audit: process.env.REDIS_THROWAWAY === 'yes' ? ('off' as const) : ('warn' as const),
};
