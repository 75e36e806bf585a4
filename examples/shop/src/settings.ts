/** The settings in the environment. `main.ts` stores its flags there, so that its workers have the same. */
export const settings = {
  /** The queue of the four kinds of jobs of the control page. */
  queue: process.env.SHOP_QUEUE || 'jobs',
  /** How long a claim lasts, in ms: short enough to watch it expire. */
  visibilityMs: Number(process.env.SHOP_VISIBILITY_MS || 5_000),
  /** How often expired claims are reclaimed, in ms. 0: only on request. */
  reclaimMs: Number(process.env.SHOP_RECLAIM_MS || 5_000),
  /** How many jobs of the queue a process runs at once. */
  concurrency: Number(process.env.SHOP_CONCURRENCY || 10),
  /** Whether this process runs jobs, or only serves HTTP. */
  works: process.env.SHOP_WORKS !== 'no',
  /** A Redis that was started for this run need not survive a crash, so no warning applies. */
  audit: process.env.REDIS_THROWAWAY === 'yes' ? ('off' as const) : ('warn' as const),
};
