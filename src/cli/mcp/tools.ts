// The tools of the MCP server. Each runs a command of the command line, and so shows and hides what that does.
import { ACTIONS, type ToolAction } from '../../queue/model/actions.js';
import { JOB_STATUSES } from '../../queue/model/job.js';

/** A parameter of a tool, as JSON Schema has it. */
export interface Field {
  type: 'string' | 'integer';
  description: string;
  enum?: readonly string[];
}

/** The given parameters, which fit the fields. */
export type Given = Readonly<Record<string, string | number | undefined>>;

export interface ToolEntry {
  name: string;
  description: string;
  fields: Readonly<Record<string, Field>>;
  required: readonly string[];
  /** What it does to a queue: nothing, something that can be undone, or something that cannot. */
  effect: 'reads' | 'changes' | 'destroys';
  /** Returns the command. Its arguments are apart from its options, so that none of them is taken for an option. */
  command(given: Given): { name: string; options?: readonly string[]; args: readonly string[] };
  /** True if the command prints a line of JSON for each item. The answer is the list of them. */
  isLines?: true;
  /** Returns the part of the command's output that is the answer. */
  pick?(output: Record<string, unknown>): unknown;
}

const QUEUE: Field = { type: 'string', description: 'The name of the queue.' };
const ID: Field = { type: 'string', description: 'The id of the job.' };
const NAME: Field = { type: 'string', description: 'Only jobs of this name.' };
const FILTER: Readonly<Record<string, Field>> = {
  name: NAME,
  error: { type: 'string', description: 'Only jobs with this text in their last error.' },
  kind: { type: 'string', description: 'Only jobs with this kind of error, as the tool errors lists it.' },
};
const CAUSE: Field = {
  type: 'string',
  description:
    'In place of a queue: in all queues, the dead letters of this root cause, as the tool errors lists it.',
};
const FIRST: Field = {
  type: 'integer',
  description: 'The number of jobs to start. The rest starts once the limits of the queue are cleared.',
};
const CONFIRMED: Field = {
  type: 'string',
  description: 'yes, once the user has read who paused it and why, and agrees.',
  enum: ['yes'],
};
const LIMIT: Field = { type: 'string', description: 'The name of the limit.' };
const TOPIC: Field = { type: 'string', description: 'The name of the topic.' };
const PAUSE: Readonly<Record<'for' | 'reason', Field>> = {
  for: { type: 'string', description: 'Ends the pause by itself after this time, such as 15m or 2h.' },
  reason: { type: 'string', description: 'Why, for those who look at the queue.' },
};
const GROUP: Field = { type: 'string', description: 'Only this group of the queue.' };

/** The fields that say why a job does not run. */
const WHY = ['id', 'name', 'status', 'notRunning', 'attempts', 'maxAttempts', 'dueAt', 'lastError', 'lastErrorAt'];

/** Returns the given values as arguments. */
function words(...values: (string | number | undefined)[]): string[] {
  return values.filter((value) => value !== undefined).map(String);
}

/** Returns an option with its value, or nothing without one. */
function option(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [`--${name}=${value}`];
}

function filterOptions({ name, error, kind }: Given): string[] {
  return [...option('name', name), ...option('error', error), ...option('kind', kind)];
}

const READING: readonly ToolEntry[] = [
  {
    name: 'queues',
    description: 'Lists the names of the queues.',
    fields: {},
    required: [],
    effect: 'reads',
    command: () => ({ name: 'queues', args: [] }),
  },
  {
    name: 'verdict',
    description:
      'Says whether work flows, the likely cause if not, and the next step: of one queue, or of all, the worst first.',
    fields: { queue: QUEUE },
    required: [],
    effect: 'reads',
    command: ({ queue }) => ({ name: 'health', args: words(queue) }),
  },
  {
    name: 'errors',
    description:
      'Lists the kinds of error of the dead letters of a queue, the most frequent first. Without a queue it lists each ' +
      'root cause of all queues once, with its queues, its begin and the deploy right before.',
    fields: { queue: QUEUE },
    required: [],
    effect: 'reads',
    command: ({ queue }) => ({ name: 'errors', args: words(queue) }),
  },
  {
    name: 'list',
    description:
      'Lists the jobs of a queue in one state, or what a search finds. Dead letters have the state failed. ' +
      'Without a search, queue and status are needed.',
    fields: {
      queue: QUEUE,
      status: { type: 'string', description: 'The state.', enum: JOB_STATUSES },
      name: { ...NAME, description: `${NAME.description} Not with a search, which has the term name:.` },
      search: {
        type: 'string',
        description:
          'What the dashboard finds, such as payload.customer:4 or error:"410 Gone"; in all queues without one.',
      },
      limit: { type: 'integer', description: 'At most this many, up to 1,000; by default 20.' },
    },
    required: [],
    effect: 'reads',
    command: ({ queue, status, name, search, limit }) => {
      // The status is the second argument, so without a queue it is a term.
      const isTerm = queue === undefined && search !== undefined && status !== undefined;
      const wanted = isTerm ? `${search} state:${status}` : search;
      return {
        name: 'list',
        options: [...option('name', name), ...option('search', wanted), ...option('limit', limit)],
        args: queue === undefined ? [] : words(queue, status),
      };
    },
  },
  {
    name: 'job',
    description: 'Shows a job: payload, result, attempts with their errors, log, progress.',
    fields: { queue: QUEUE, id: ID },
    required: ['queue', 'id'],
    effect: 'reads',
    command: ({ queue, id }) => ({ name: 'show', args: words(queue, id) }),
  },
  {
    name: 'why',
    description: 'Says why a job does not run now, and its last error.',
    fields: { queue: QUEUE, id: ID },
    required: ['queue', 'id'],
    effect: 'reads',
    command: ({ queue, id }) => ({ name: 'show', args: words(queue, id) }),
    pick: (job) => Object.fromEntries(Object.entries(job).filter(([field]) => WHY.includes(field))),
  },
  {
    name: 'stream',
    description:
      'Shows what a job has streamed so far. A long answer loses its end: ask again behind the last item that it has.',
    fields: {
      queue: QUEUE,
      id: ID,
      after: { type: 'string', description: 'Begins behind this item, by the id that an answer has.' },
    },
    required: ['queue', 'id'],
    effect: 'reads',
    command: ({ queue, id, after }) => ({
      name: 'stream',
      options: option('after', after),
      args: words(queue, id),
    }),
    isLines: true,
  },
  {
    name: 'schedules',
    description:
      'Lists the recurring jobs of a queue, or of all queues without one, with their next times and last runs.',
    fields: { queue: QUEUE },
    required: [],
    effect: 'reads',
    command: ({ queue }) => ({ name: 'schedules', args: words(queue) }),
  },
  {
    name: 'late_schedules',
    description:
      'Lists the recurring jobs whose runs nobody makes, or whose run does not end, with the cause and the next step: ' +
      'of one queue, or of all.',
    fields: { queue: QUEUE },
    required: [],
    effect: 'reads',
    command: ({ queue }) => ({ name: 'schedules', options: ['--late'], args: words(queue) }),
  },
  {
    name: 'shared_limit',
    description:
      'Shows a limit that queues share, or all: its values, which workers hold it, which queues wait, its pause and its rest. The verdict names it.',
    fields: { limit: LIMIT },
    required: [],
    effect: 'reads',
    command: ({ limit }) => ({ name: 'shared-limit', args: words(limit) }),
  },
  {
    name: 'topics',
    description:
      'Lists the subscriptions of a topic, or of all: the queue of each, since when it is known, and whether a live worker has its handler.',
    fields: { topic: TOPIC },
    required: [],
    effect: 'reads',
    command: ({ topic }) => ({ name: 'topics', args: words(topic) }),
  },
  {
    name: 'profile_top',
    description:
      'Shows which functions took the time, or the memory, in the last profile of a queue. The tool profile asks for one, which is kept for an hour.',
    fields: { queue: QUEUE },
    required: ['queue'],
    effect: 'reads',
    command: ({ queue }) => ({ name: 'profile', options: ['--last', '--top'], args: words(queue) }),
  },
];

/** Returns the name of an action's tool, its description, and what it does to a queue. */
function named(name: ToolAction): Pick<ToolEntry, 'name' | 'description' | 'effect'> {
  const { tool, destroys } = ACTIONS[name];
  return { name, description: tool, effect: destroys ? 'destroys' : 'changes' };
}

const WRITING: readonly ToolEntry[] = [
  {
    name: 'retry',
    description: 'Makes one dead letter pending again, so that it runs.',
    fields: { queue: QUEUE, id: ID },
    required: ['queue', 'id'],
    effect: 'changes',
    command: ({ queue, id }) => ({ name: 'redrive', args: words(queue, id) }),
  },
  {
    ...named('redrive'),
    fields: { queue: QUEUE, ...FILTER, cause: CAUSE },
    required: [],
    command: (given) => ({
      name: 'redrive',
      options: ['--all', ...filterOptions(given), ...option('cause', given['cause'])],
      args: words(given['queue']),
    }),
  },
  {
    ...named('pause'),
    fields: {
      queue: QUEUE,
      group: GROUP,
      ...PAUSE,
    },
    required: ['queue'],
    command: ({ queue, group, for: time, reason }) => ({
      name: 'pause',
      options: [...option('group', group), ...option('for', time), ...option('reason', reason)],
      args: words(queue),
    }),
  },
  {
    ...named('resume'),
    fields: { queue: QUEUE, group: GROUP, first: FIRST, confirmed: CONFIRMED },
    required: ['queue'],
    command: ({ queue, group, first, confirmed }) => ({
      name: 'resume',
      options: [...option('group', group), ...option('first', first), ...(confirmed === 'yes' ? ['--yes'] : [])],
      args: words(queue),
    }),
  },
  {
    ...named('pause-shared-limit'),
    fields: { limit: LIMIT, ...PAUSE },
    required: ['limit'],
    command: ({ limit, for: time, reason }) => ({
      name: 'shared-limit',
      options: ['--pause', ...option('for', time), ...option('reason', reason)],
      args: words(limit),
    }),
  },
  {
    ...named('resume-shared-limit'),
    fields: { limit: LIMIT, confirmed: CONFIRMED },
    required: ['limit'],
    command: ({ limit, confirmed }) => ({
      name: 'shared-limit',
      options: ['--resume', ...(confirmed === 'yes' ? ['--yes'] : [])],
      args: words(limit),
    }),
  },
  {
    ...named('mark-error'),
    fields: {
      queue: QUEUE,
      kind: { type: 'string', description: 'The kind of error, as the tool errors lists it.' },
      known: { type: 'string', description: 'yes, if it is known.', enum: ['yes'] },
      quiet: { type: 'string', description: 'No alert tells it for this time, such as 2h; at most 30d.' },
      note: { type: 'string', description: 'A note for those who look at the queue.' },
    },
    required: ['queue', 'kind'],
    command: ({ queue, kind, known, quiet, note }) => ({
      name: 'mark-error',
      options: [...(known === 'yes' ? ['--known'] : []), ...option('quiet', quiet), ...option('note', note)],
      args: words(queue, kind),
    }),
  },
  {
    ...named('profile'),
    fields: {
      queue: QUEUE,
      name: NAME,
      kind: {
        type: 'string',
        description: 'cpu: the time. heap: the memory. By default cpu.',
        enum: ['cpu', 'heap'],
      },
      for: { type: 'string', description: 'Measures at most this long, such as 10s; at most 5m.' },
    },
    required: ['queue'],
    command: ({ queue, name, kind, for: time }) => ({
      name: 'profile',
      options: ['--ask', ...(kind === 'heap' ? ['--heap'] : []), ...option('for', time)],
      args: words(queue, name),
    }),
  },
  {
    ...named('signal'),
    effect: 'destroys', // the first signal of a name stays
    fields: {
      queue: QUEUE,
      id: ID,
      signal: { type: 'string', description: 'The name of the signal. The tool why says what a job waits for.' },
      data: { type: 'string', description: 'The data of the signal, as JSON. Without it the signal has none.' },
    },
    required: ['queue', 'id', 'signal'],
    command: ({ queue, id, signal, data }) => ({ name: 'signal', args: words(queue, id, signal, data) }),
  },
  {
    ...named('remove-subscription'),
    fields: {
      topic: TOPIC,
      subscription: { type: 'string', description: 'The name of the subscription, as the tool topics lists it.' },
    },
    required: ['topic', 'subscription'],
    command: ({ topic, subscription }) => ({
      name: 'topics',
      options: ['--yes'],
      args: words(topic, 'remove', subscription),
    }),
  },
  {
    ...named('discard'),
    fields: { queue: QUEUE, id: ID },
    required: ['queue', 'id'],
    command: ({ queue, id }) => ({ name: 'discard', options: ['--yes'], args: words(queue, id) }),
  },
];

/** Returns the tools: those that read, and with `write` those that change. */
export function toolsFor({ write }: { write: boolean }): readonly ToolEntry[] {
  return write ? [...READING, ...WRITING] : READING;
}

/** Returns what is wrong with the parameters of a call, or undefined. */
export function problemOf(tool: ToolEntry, given: Readonly<Record<string, unknown>>): string | undefined {
  const missing = tool.required.find((name) => given[name] === undefined);
  if (missing) return `${tool.name}: expected ${missing}, found nothing`;
  for (const [name, value] of Object.entries(given)) {
    const field = Object.hasOwn(tool.fields, name) ? tool.fields[name] : undefined;
    if (!field) return `${tool.name}: expected only ${Object.keys(tool.fields).join(', ')}, found ${name}`;
    const isRight = field.type === 'integer' ? Number.isInteger(value) : typeof value === 'string' && value !== '';
    const isKnown = field.enum === undefined || field.enum.includes(value as string);
    if (!isRight || !isKnown) {
      const expected = field.enum ? `one of ${field.enum.join(', ')}` : `a ${field.type}`;
      return `${tool.name}: ${name}: expected ${expected}, found ${JSON.stringify(value)}`;
    }
  }
  return undefined;
}
