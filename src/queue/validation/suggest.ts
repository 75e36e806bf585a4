import { own } from '../runtime/collections.js';

/** The most letters by which a mistyped option may differ. */
const MAX_DISTANCE = 3;

/** The names that other queues give to options of ours. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  connection: ['redis'],
  host: ['redis'],
  url: ['redis'],
  uri: ['redis'],
  port: ['redis'],
  password: ['redis'],
  db: ['redis'],
  tls: ['redis'],
  sentinels: ['redis'],
  keyPrefix: ['prefix'],
  name: ['queues'],
  route: ['path'],
  basePath: ['path'],
  retries: ['maxAttempts'],
  retry: ['maxAttempts'],
  timeout: ['timeoutMs'],
  ttl: ['for', 'expiresInMs', 'resultTtlMs'],
  limiter: ['rateLimit'],
  max: ['limit'],
  duration: ['periodMs'],
  lockDuration: ['visibilityMs'],
  stalledInterval: ['maintenance'],
  maxStalledCount: ['maxCrashes'],
  globalConcurrency: ['maxRunning'],
  removeOnComplete: ['resultTtlMs'],
  removeOnFail: ['deadLetterAgeMs'],
  deduplication: ['unique'],
  dedupe: ['unique'],
  debounce: ['unique'],
  sizeLimit: ['maxPayloadBytes'],
  startDate: ['startAt'],
  endDate: ['endAt'],
  pattern: ['cron'],
  tz: ['timeZone'],
  jobId: ['id'],
  data: ['payload'],
};

/** Objects in which other queues gather options that stand directly in the call here. */
const GATHERED = ['options', 'opts', 'defaultJobOptions'];

/** Options of other queues that are calls here. */
const CALLS: Readonly<Record<string, string>> = {
  repeat: 'For a recurring job use @RecurringJob, or jobs.schedules.upsert(name, id, { cron }).',
  parent: 'For a job after others use the option `after`, or jobs.batch({ then }).',
  children: 'For jobs with one after them use jobs.batch({ then }).',
};

/** Options of a job that a handler does not have. */
const OF_JOBS: Readonly<Record<string, string>> = {
  priority: 'A job has its priority from the enqueue, or from the defaults of defineJob.',
  delayMs: 'A job has its delay from the enqueue.',
};

/** Returns the sentence of an error that suggests the probable option, or lists all known ones. */
export function suggest(word: string, known: readonly string[]): string {
  const call = own(CALLS, word);
  if (call !== undefined && known.includes('maxAttempts')) {
    return call; // the word is an option of a job, and not the name of a queue
  }
  const ofJob = own(OF_JOBS, word);
  if (ofJob !== undefined && known.includes('maxAttempts')) {
    return ofJob;
  }
  const meant = own(OTHER_NAMES, word)?.find((each) => known.includes(each)) ?? nearest(word, known);
  if (meant !== undefined) {
    return `Did you mean ${meant}?`;
  }
  if (GATHERED.includes(word)) {
    return `Write its fields here, without ${word}.`;
  }
  return known.length > 0 ? `Known: ${known.join(', ')}.` : '';
}

/** Returns the known name that differs from a word by a few letters, or undefined. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const most = Math.min(MAX_DISTANCE, Math.ceil(word.length / 2));
  const near = known
    .filter((each) => Math.abs(each.length - word.length) <= MAX_DISTANCE) // the distance is no less; a word may be huge
    .map((each) => ({ each, distance: editDistance(word.toLowerCase(), each.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance)[0];
  return near && near.distance <= most ? near.each : undefined;
}

/** Returns levenshtein's distance: how many letters to insert, delete or exchange to get from a to b. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}
