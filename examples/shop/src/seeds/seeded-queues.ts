/** The connection of the seeded queues: the same Redis as the shop's, with a worker of its own. */
export const SEEDS = 'seeds';

/** The queues that `npm start` seeds for the dashboard, apart from the shop's. */
export const SEEDED_QUEUES = ['search-index', 'payment', 'newsletter', 'backup', 'export'] as const;

export type SeededQueue = (typeof SEEDED_QUEUES)[number];
