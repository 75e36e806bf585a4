// Each question that users ask has an answer in the docs, one click from their table of contents.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

/** A question, the page, and the heading that answers it. */
const QUESTIONS: [question: string, page: string, heading: string][] = [
  ['How do I retry with a backoff?', 'jobs.md', 'Retries'],
  ['What happens on a deploy?', 'deploys.md', 'What happens to running jobs'],
  ['How do I change a payload while jobs wait?', 'deploys.md', 'A payload with a version'],
  ['How do I choose visibilityMs?', 'choosing.md', 'The visibility timeout'],
  ['Why is a job stuck in processing?', 'troubleshooting.md', 'A job stays in `processing`'],
  ['Why is a job stuck in pending?', 'troubleshooting.md', 'A job stays in `pending`'],
  ['How do I test a handler and a producer?', 'testing.md', ''],
  ['How do I migrate from BullMQ?', 'from-bullmq.md', ''],
  ['How do I run workers in Kubernetes?', 'containers.md', 'Kubernetes'],
  ['How do I limit the rate of calls to an API?', 'limits.md', 'Set them'],
  ['Where do I see the queue?', 'dashboard.md', ''],
  ['How do I measure worker processes without HTTP?', 'processes.md', 'Metrics'],
  ['Which alerts do I need?', 'monitoring.md', 'Dashboard and alerts'],
  ['How do I trace a job?', 'monitoring.md', 'Traces'],
  ['How do I secure Redis?', 'security.md', 'Redis'],
  ['How do I connect to a Cluster?', 'redis.md', 'Cluster'],
  ['How do I connect through Sentinel?', 'redis.md', 'Sentinel'],
  ['Does it run on Valkey, ElastiCache, MemoryDB, Upstash or Dragonfly?', 'redis.md', 'Which servers'],
  ['How much memory does it need?', 'sizing.md', 'Memory of Redis'],
  ['How do I run a job every morning, in a zone with summer time?', 'recurring-jobs.md', 'When it ticks'],
  ['How do I deduplicate, debounce or throttle?', 'jobs.md', 'Deduplicate, debounce, throttle'],
  ['How do I run one at a time, and keep the last data?', 'jobs.md', 'One runs, one waits'],
  ['How do I make a handler idempotent?', 'idempotency.md', 'Note in your database that the job was done'],
  ['How do I enqueue in a transaction of my database?', 'outbox.md', 'Set up'],
  ['How do I chain jobs?', 'batches.md', 'One job after another'],
  ['How do I look at failed jobs, and run them again?', 'managing-jobs.md', 'Dead letters'],
  ['Which errors can I catch?', 'errors.md', ''],
  ['How do I stop without losing work?', 'containers.md', 'How long a stop may take'],
  ['How do I use it without Nest?', 'without-nest.md', 'A program'],
];

const read = (page: string) => readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');

it.each(QUESTIONS)('%s', (_, page, heading) => {
  expect(read('README.md')).toContain(`](${page}`);
  expect(read(page).split('\n')).toContainEqual(
    expect.stringMatching(heading ? new RegExp(`^#+ ${heading}$`) : /^# /),
  );
});
