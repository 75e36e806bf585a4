// The six groups of the site. test/docs/site/site.spec.ts holds them against the pages of docs.
const page = (text, link) => ({ text, link: `/${link}` });

export const GROUPS = [
  {
    text: 'Start',
    items: [
      page('Quickstart', 'start'),
      page('Guide', 'guide'),
      page('Coming from BullMQ', 'from-bullmq'),
      page('Which queue to take', 'comparison'),
      page('Without Nest', 'without-nest'),
      page('Performance', 'performance'),
    ],
  },
  {
    text: 'Jobs',
    items: [
      page('Jobs', 'jobs'),
      page('Recurring jobs', 'recurring-jobs'),
      page('Batches and follow-ups', 'batches'),
      page('Jobs that resume', 'steps'),
      page('Jobs of transactions', 'outbox'),
      page('Bulk handlers', 'bulk-handlers'),
      page('Limits', 'limits'),
      page('Groups', 'groups'),
      page('Change, find, delete', 'managing-jobs'),
      page('Idempotent handlers', 'idempotency'),
      page('Events', 'events'),
      page('Testing', 'testing'),
    ],
  },
  {
    text: 'Nest',
    items: [
      page('Queues and modules', 'queues-and-modules'),
      page('Enhancers', 'enhancers'),
      page('Scopes', 'scopes'),
      page('Middleware', 'middleware'),
      page('Logging', 'logging'),
      page('Dashboard', 'dashboard'),
    ],
  },
  {
    text: 'Production',
    items: [
      page('Checklist', 'production'),
      page('Choosing values', 'choosing'),
      page('Redis', 'redis'),
      page('Docker and Kubernetes', 'containers'),
      page('Worker processes', 'processes'),
      page('Threads', 'threads'),
      page('Sizing', 'sizing'),
      page('Scaling', 'scaling'),
      page('Deploys', 'deploys'),
      page('Monitoring', 'monitoring'),
      page('Encryption', 'encryption'),
      page('Reliability', 'reliability'),
      page('Durability', 'durability'),
      page('Audit trail', 'audit-trail'),
      page('Mixed fleets', 'mixed-fleets'),
    ],
  },
  {
    text: 'Help',
    items: [page('Troubleshooting', 'troubleshooting'), page('Errors', 'errors'), page('Doctor', 'doctor')],
  },
  {
    text: 'Reference',
    items: [
      page('Options', 'options'),
      page('Options that combine', 'combinations'),
      page('Command line', 'cli'),
      page('Versions and support', 'versions'),
    ],
  },
];
