/** The queues that only another app knows: one with jobs, and one with a schedule. */
export const FOREIGN_QUEUE = 'newsletter';
export const FOREIGN_SCHEDULE = 'price-feed';
/** The queue whose jobs end their process. It has processes of its own. */
export const DEADLY_QUEUE = 'image';

export interface IncidentQueue {
  name: string;
  /** The jobs of it that wait, that start in an hour, and that are dead, of ALL_JOBS in all. */
  waiting?: number;
  scheduled?: number;
  dead?: number;
  /** The age of its oldest waiting job, in minutes. */
  oldestMinutes?: number;
  /** The jobs of one minute, before and during the incident. */
  perMinute: number;
  /** The share of its jobs that fails since the incident began. */
  failing?: number;
  /** The usual run of a job, in ms. */
  runMs: number;
}

/** The queues of a large shop at three in the morning. */
export const INCIDENT_QUEUES: readonly IncidentQueue[] = [
  { name: 'video', waiting: 6_000, oldestMinutes: 42, perMinute: 140, runMs: 400 },
  { name: 'email', waiting: 60_000, oldestMinutes: 38, perMinute: 1_800, runMs: 60 },
  { name: 'import', waiting: 30_000, oldestMinutes: 55, perMinute: 60, runMs: 200 },
  { name: FOREIGN_QUEUE, waiting: 20_000, oldestMinutes: 50, perMinute: 0, runMs: 0 },
  { name: 'sms', waiting: 12_000, oldestMinutes: 30, perMinute: 300, runMs: 40 },
  { name: 'webhook', waiting: 500, dead: 3_500, oldestMinutes: 1, perMinute: 240, failing: 0.9, runMs: 120 },
  { name: 'export', waiting: 3_000, oldestMinutes: 90, perMinute: 30, runMs: 300 },
  { name: 'payment', dead: 500, perMinute: 60, failing: 0.3, runMs: 120 },
  { name: 'reminder', scheduled: 9_000, perMinute: 60, runMs: 30 },
  { name: 'search-index', waiting: 500, oldestMinutes: 0, perMinute: 240, runMs: 20 },
  { name: 'thumbnail', perMinute: 180, runMs: 80 },
  { name: 'invoice', dead: 40, perMinute: 60, failing: 0.1, runMs: 90 },
  { name: DEADLY_QUEUE, perMinute: 60, runMs: 80 },
  { name: 'report', perMinute: 6, runMs: 150 },
  { name: 'backup', perMinute: 0, runMs: 400 },
  { name: 'cleanup', perMinute: 0, runMs: 10 },
];

/** The jobs of the whole incident by default. */
export const ALL_JOBS = INCIDENT_QUEUES.reduce(
  (sum, { waiting = 0, scheduled = 0, dead = 0 }) => sum + waiting + scheduled + dead,
  0,
);
