// The six groups of the site. test/docs/site/site.spec.ts holds them against the pages of docs.
/** @param description one sentence, for search engines and llms.txt */
const page = (text, link, description) => ({ text, link: `/${link}`, description });

/** Made by typedoc beside these pages, so the browser loads it as a page of its own. */
const API = {
  text: 'API',
  link: '/api/index.html',
  target: '_self',
  description: 'Each class, function and type that the package exports.',
};

export const GROUPS = [
  {
    text: 'Start',
    items: [
      page('Quickstart', 'start', 'Run the example shop, then put a first handler into a fresh Nest project.'),
      page(
        'Playground',
        'playground',
        'A queue in the browser: move its options, kill its workers, and watch the jobs.',
      ),
      page('Guide', 'guide', 'Handlers, enqueues, retries, results, schedules and shutdown in one reading.'),
      page(
        'Coming from BullMQ',
        'from-bullmq',
        'The words and options of BullMQ beside ours, a codemod, and a command that moves jobs.',
      ),
      page(
        'Which queue to take',
        'comparison',
        'When this library fits, and when BullMQ, pg-boss, Temporal or Nest workflows fit better.',
      ),
      page('Without Nest', 'without-nest', 'A program with a queue and a worker that needs only ioredis.'),
      page(
        'Performance',
        'performance',
        'Jobs per second beside BullMQ, the settings for speed, and how the cost grows.',
      ),
    ],
  },
  {
    text: 'Jobs',
    items: [
      page(
        'Jobs',
        'jobs',
        'The options of a single job: retries, crashes, delay, unique keys, time limits, results, priority.',
      ),
      page(
        'Recurring jobs',
        'recurring-jobs',
        'Cron and interval schedules with time zones, missed ticks and overlap.',
      ),
      page(
        'Batches and follow-ups',
        'batches',
        'A set of jobs with one job after them, and jobs that wait for others.',
      ),
      page(
        'Jobs that resume',
        'steps',
        'Record the result of each effect, so that the next attempt continues behind it.',
      ),
      page(
        'Profile a job',
        'profile',
        'Measure a job in production by the CPU profiler of V8, or its allocations, in the worker that runs it.',
      ),
      page(
        'Streams',
        'streams',
        'Chunks that a job writes while it runs, for readers in any process: live, after a reconnect, and later.',
      ),
      page(
        'A wait for a signal',
        'signals',
        'A job that waits for an approval or a webhook, without a slot and without an attempt.',
      ),
      page(
        'Topics',
        'topics',
        'Publish an event that is not lost: each subscription gets a job, also while its process is away.',
      ),
      page(
        'Jobs of transactions',
        'outbox',
        'Enqueue in a database transaction: both the rows and the job happen, or neither.',
      ),
      page('Bulk handlers', 'bulk-handlers', 'One call for several jobs, for example one insert or one request.'),
      page(
        'Limits',
        'limits',
        'Bound how many jobs of a queue run at once or start in a period, over the whole fleet.',
      ),
      page('Groups', 'groups', 'Tenants take turns in a queue, each with limits and pauses of its own.'),
      page(
        'Change, find, delete',
        'managing-jobs',
        'Find, change, cancel, redrive and delete jobs, and set how long they are kept.',
      ),
      page('Idempotent handlers', 'idempotency', 'Four ways to make a handler that may run twice, with SQL.'),
      page(
        'Events',
        'events',
        'React to jobs that complete, fail or retry, in one process or over the whole fleet.',
      ),
      page('Testing', 'testing', 'Test handlers and producers in memory, by a clock that the test moves.'),
    ],
  },
  {
    text: 'Nest',
    items: [
      page(
        'Queues and modules',
        'queues-and-modules',
        'Inject queues, register them in modules, and use several Redis servers.',
      ),
      page('Enhancers', 'enhancers', 'Guards, pipes, interceptors and exception filters of Nest on handlers.'),
      page('Scopes', 'scopes', 'Handlers per request or per tenant, and what each scope costs.'),
      page(
        'Middleware',
        'middleware',
        'Code around each enqueue and each attempt, for metrics, traces and contexts.',
      ),
      page('Logging', 'logging', 'What the library logs, at which level, and how to change it.'),
      page('Dashboard', 'dashboard', 'A page in your app that shows which queue is stuck and why, and repairs it.'),
    ],
  },
  {
    text: 'Production',
    items: [
      page('Checklist', 'production', 'What to set before users depend on it, and what happens without it.'),
      page('Choosing values', 'choosing', 'How to choose the visibility timeout, concurrency and retries.'),
      page(
        'Redis',
        'redis',
        'Connect to one server, Sentinel or a Cluster; a Redis user, TLS, and queues in memory.',
      ),
      page(
        'Docker and Kubernetes',
        'containers',
        'Start command, probes, time to stop, and scaling by the age of waiting jobs.',
      ),
      page('Worker processes', 'processes', 'Run the workers of an app in several supervised processes.'),
      page('Threads', 'threads', 'Run handlers that calculate in worker threads.'),
      page('Sizing', 'sizing', 'Formulas for slots, processes, connections and the memory of Redis.'),
      page(
        'Scaling',
        'scaling',
        'What a queue, a name, a process and a connection cost, and where one server ends.',
      ),
      page(
        'Move a queue',
        'moving',
        'One command moves a queue to another Redis, prefix, name or Cluster while the app runs.',
      ),
      page(
        'Deploys',
        'deploys',
        'What a deploy does to running jobs, and how to change a payload while jobs wait.',
      ),
      page(
        'Monitoring',
        'monitoring',
        'Metrics for Prometheus and OpenTelemetry, traces, alerts and the verdict on a queue.',
      ),
      page('Functions', 'functions', 'Enqueue from Lambda, Vercel and Cloud Run: connections, freezes, closing.'),
      page('Sentry', 'sentry', 'Errors, spans and check-ins of jobs in Sentry, by one line.'),
      page('Datadog and New Relic', 'datadog', 'Traces by OpenTelemetry, metrics, and a dashboard for Datadog.'),
      page(
        'Security',
        'security',
        'The Redis user, TLS, encryption and the dashboard: what to set, and what happens without.',
      ),
      page('Encryption', 'encryption', 'Codecs, and encrypted payloads with keys that rotate.'),
      page('Reliability', 'reliability', 'What is guaranteed, fault by fault, and what Redis can promise.'),
      page('Proof', 'proof', 'Each guarantee with the test that shows it, and the counts of the last runs.'),
      page('Durability', 'durability', 'Enqueues that wait for replicas of Redis.'),
      page('Audit trail', 'audit-trail', 'One entry of a Redis Stream for each transition of each job.'),
      page(
        'Mixed fleets',
        'mixed-fleets',
        'Share queues with clients of the Redis job-queue pattern in other languages.',
      ),
    ],
  },
  {
    text: 'Recipes',
    items: [
      page(
        'Rate-limited API',
        'recipes/rate-limited-api',
        'Calls to a partner that allows so many a minute, and answers 429.',
      ),
      page(
        'LLM calls by token cost',
        'recipes/llm-calls',
        'Calls within a budget of tokens, with answers that a retry does not pay again.',
      ),
      page(
        'A link that approves',
        'recipes/approval-link',
        'An order that waits until somebody opens a signed link.',
      ),
      page(
        'Webhooks in and out',
        'recipes/webhooks',
        'Webhooks that are taken once, and those that you send to customers.',
      ),
      page(
        'Import with progress',
        'recipes/import-with-progress',
        'A long import that shows its progress and resumes after a deploy.',
      ),
      page('Digest mail', 'recipes/digest-mail', 'One mail with all events of ten minutes.'),
      page('Tenant fairness', 'recipes/tenant-fairness', 'Tenants that take turns, each with limits of its own.'),
      page('PDF fan-out', 'recipes/pdf-fan-out', 'Pages that render side by side, and one job that binds them.'),
      page(
        'Chain across queues',
        'recipes/chain-across-queues',
        'Jobs of several queues, one after another, each with the result before.',
      ),
      page('Outbox', 'recipes/outbox', 'A job that exists if and only if its row does.'),
      page(
        'One at a time, last data kept',
        'recipes/latest-state',
        'One sync of a document at a time, and the last state arrives.',
      ),
      page(
        'Read-only admin',
        'recipes/read-only-admin',
        'A dashboard for support, which changes nothing and hides fields.',
      ),
    ],
  },
  {
    text: 'Reference',
    items: [
      page(
        'Troubleshooting',
        'troubleshooting',
        'By symptom: a job that does not run, ran twice, or whose result does not come.',
      ),
      page('Errors', 'errors', 'Each error with its code, its cause and what to do.'),
      page('Doctor', 'doctor', 'The audit of the server at boot, and the repair of the keys of a queue.'),
      page('Options', 'options', 'All options with defaults and bounds, and the sizes that Redis holds.'),
      page(
        'Options that combine',
        'combinations',
        'What a job with an option does in each state, and what two options do together.',
      ),
      API,
      page('Command line', 'cli', 'The commands that show and steer queues.'),
      page(
        'Versions and support',
        'versions',
        'What a version promises, which versions are tested, and how parts are deprecated.',
      ),
      page('The project', 'project', 'The maintainers of the library, their response times, and the roadmap.'),
    ],
  },
];
