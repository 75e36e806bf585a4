// What people do to jobs and queues. A new action is a row of ACTIONS, from which its surfaces follow. In the dashboard
//   they are its permission, route, button and toast. On the command line they are its command, help and completion.
//   The MCP server has its tool, and the action log its entry.
import type { JobStatus } from './job.js';

/** Its own permission with the words of a refusal, those of other actions, or both. null: not in the dashboard. */
type PermissionColumn = { may: string; as?: readonly string[] } | { as: readonly string[] } | null;

interface Row {
  /** What it is done to. */
  on: 'job' | 'queue' | 'group' | 'limit' | 'schedule' | 'batch' | 'topic' | 'outbox';
  permission: PermissionColumn;
  /** True if it writes payloads or data of signals, which only an app with the queue's codec and schemas can. */
  encodes?: true;
  /** True if it changes jobs whose ids nobody knows before, so that no permission can be asked for each. */
  isBlind?: true;
  /** True if it cannot be undone, so that people are asked before. */
  destroys: boolean;
  /** Its kind on the timeline of the overview, if it explains a change of figures there. */
  onTimeline?: 'pause' | 'resume' | 'limit';
  /** Its command: its line in the help, and examples of its arguments. null: none, or an option of another command. */
  command: { text: string; example: string | readonly string[] } | null;
  /** The description of the MCP server's tool. null: none. */
  tool: string | null;
}

/** An action on jobs that people do one by one. */
interface JobRow extends Row {
  on: 'job';
  /** The states from which it takes jobs. */
  takes: readonly JobStatus[];
  verb:
    | { of: 'deadLetters'; name: string }
    /** `changed` has the outcomes that mean a change. `refused` tells a user why a job stays as it is. */
    | { of: 'queue'; name: string; changed: readonly string[]; refused: string };
  button: string;
  /** True if it is what most people come for. */
  isMain?: true;
  /** A word for jobs that it has changed. */
  done: string;
  /** What it does to one job. */
  does: string;
  /** For many jobs at once: the button for all, and what it does to them. null: for one job only. */
  many: { button: string; does: string } | null;
}

/** A row of the table. */
export type ActionRow = JobRow | (Row & { takes?: never });

/** The columns of an action that is neither a command nor a tool. */
const NO_COMMAND = { command: null, tool: null } as const;

/** Returns the row of an action of code, or of a command that does more. */
function ofCode<On extends Row['on']>(on: On, destroys: boolean) {
  return { ...NO_COMMAND, on, destroys, permission: null } as const;
}

export const ACTIONS = {
  redrive: {
    on: 'job',
    permission: { may: 'redrive jobs' },
    destroys: false,
    takes: ['failed'],
    verb: { of: 'deadLetters', name: 'redrive' },
    button: 'Redrive',
    isMain: true,
    done: 'redriven',
    does: 'It goes back to work, its attempts reset.',
    many: { button: 'Redrive all', does: 'They go back to work, their attempts reset.' },
    command: {
      text: 'makes a dead letter pending again, or with --all each one that matches',
      example: 'email --all --error "502 Bad Gateway"',
    },
    tool: 'Makes all dead letters that match pending again, so that they run.',
  },
  discard: {
    on: 'job',
    permission: { may: 'discard jobs' },
    destroys: true,
    takes: ['failed'],
    verb: { of: 'deadLetters', name: 'discard' },
    button: 'Discard',
    done: 'discarded',
    does: 'It is deleted for good.',
    many: { button: 'Discard all', does: 'They are deleted for good.' },
    command: {
      text: 'deletes a dead letter for good, or with --all each one that matches',
      example: 'email --all --kind 1f3a',
    },
    tool: 'Deletes one dead letter for good.',
  },
  'redrive-as-new': {
    on: 'job',
    permission: { as: ['redrive'] },
    destroys: false,
    takes: ['failed'],
    verb: { of: 'deadLetters', name: 'redriveAsNew' },
    button: 'Redrive as a new job',
    done: 'redriven',
    does: 'This record stays, and the new job names it',
    many: null,
    command: null,
    tool: null,
  },
  edit: {
    on: 'job',
    permission: { may: 'edit payloads', as: ['redrive'] },
    encodes: true,
    destroys: false,
    takes: ['failed'],
    verb: { of: 'deadLetters', name: 'redrive' },
    button: 'Edit and redrive',
    done: 'redriven',
    does: 'It goes back to work with another payload.',
    many: null,
    command: null,
    tool: null,
  },
  'run-again': {
    on: 'job',
    permission: { may: 'run jobs again' },
    destroys: false,
    takes: ['completed', 'cancelled'],
    verb: {
      of: 'queue',
      name: 'runAgain',
      changed: ['pending'],
      refused: 'It has not ended so. A dead letter is sent back to work by "redrive".',
    },
    button: 'Run again',
    done: 'run again',
    does: 'It goes back to work with all its attempts; its result goes.',
    many: { button: 'Run all again', does: 'They go back to work with all their attempts; their results go.' },
    command: { text: 'runs a job again that completed or was cancelled', example: 'email 01JD8Z4M' },
    tool: null,
  },
  promote: {
    on: 'job',
    permission: { may: 'promote jobs' },
    destroys: false,
    takes: ['scheduled'],
    verb: { of: 'queue', name: 'promote', changed: ['pending'], refused: 'It runs or has ended.' },
    button: 'Promote',
    isMain: true,
    done: 'promoted',
    does: 'It becomes pending now.',
    many: { button: 'Promote all', does: 'They become pending now.' },
    command: { text: 'starts a scheduled job now', example: 'email 01JD8Z4M' },
    tool: null,
  },
  cancel: {
    on: 'job',
    permission: { may: 'cancel jobs' },
    destroys: true,
    takes: ['pending', 'scheduled', 'processing'],
    verb: { of: 'queue', name: 'cancel', changed: ['cancelled', 'requested'], refused: '' },
    button: 'Cancel',
    done: 'cancelled',
    does: 'A waiting job ends at once; a running one is asked to stop at its next heartbeat.',
    many: { button: 'Cancel all', does: 'Waiting jobs end at once; running ones are asked to stop.' },
    command: { text: 'cancels a job; a running one gets an aborted signal', example: 'email 01JD8Z4M' },
    tool: null,
  },
  remove: {
    on: 'job',
    permission: { may: 'remove jobs' },
    destroys: true,
    takes: ['pending', 'scheduled', 'completed', 'cancelled'],
    verb: { of: 'queue', name: 'remove', changed: ['removed'], refused: 'It runs: cancel it first.' },
    button: 'Remove',
    done: 'removed',
    does: 'It is deleted with all its traces.',
    many: { button: 'Remove all', does: 'They are deleted with all their traces.' },
    command: null,
    tool: null,
  },
  reschedule: ofCode('job', false),
  signal: {
    on: 'job',
    permission: { may: 'send signals' },
    encodes: true,
    destroys: false,
    command: {
      text: 'gives a job the signal that its handler waits for; the data is JSON',
      example: `order 01JD8Z4M approved '{"by":"ada"}'`,
    },
    tool: 'Gives a job the signal that its handler waits for, so that the job goes on. The first signal of a name stays.',
  },
  'set-priority': ofCode('job', false),
  clean: ofCode('job', true),
  pause: {
    on: 'queue',
    permission: { may: 'pause' },
    destroys: false,
    onTimeline: 'pause',
    command: {
      text: 'stops all claims of the fleet; running jobs continue',
      example: 'email --for 15m --reason "mail server is down"',
    },
    tool: 'Pauses a queue, or one group of it, for the whole fleet.',
  },
  resume: {
    on: 'queue',
    permission: { may: 'resume' },
    destroys: false,
    onTimeline: 'resume',
    command: {
      text: 'ends a pause; asks where a reason was given, and on a terminal where jobs wait',
      example: 'email',
    },
    tool: 'Ends the pause of a queue, or of one group of it. Where a reason was given it refuses, and says who paused it, since when, why, and how many jobs start. Ask the user, then pass confirmed.',
  },
  limits: {
    on: 'queue',
    permission: { may: 'change limits' },
    destroys: false,
    onTimeline: 'limit',
    command: {
      text: 'shows or sets how much of a queue may run in the whole fleet; other limits stay',
      example: 'email --rate 100 --period 1000',
    },
    tool: null,
  },
  'clear-limits': {
    ...NO_COMMAND,
    on: 'queue',
    permission: { as: ['limits'] },
    destroys: false,
    onTimeline: 'limit',
  },
  'mark-error': {
    on: 'queue',
    permission: { as: ['redrive'] },
    destroys: false,
    command: {
      text: 'says of a kind of error that it is known, or quiet for a time, or notes something; --forget forgets it',
      example: 'email 4ddfd7b1f5 --quiet 2h --note "ticket 4711"',
    },
    tool: 'Says of a kind of error that it is known, so that no alert tells it until it comes again, or that it is quiet for a time, or notes something. It replaces what was said before.',
  },
  profile: {
    on: 'queue',
    permission: { may: 'profile jobs' },
    destroys: false,
    command: {
      text: 'measures the next attempt of a job by the CPU profiler of V8, or with --heap its allocations',
      example: 'invoice --out invoice.cpuprofile',
    },
    tool: 'Asks for a profile of the next attempt of a job in its worker: which functions take the time, or the memory. A worker measures it within a minute or when a job comes; the tool profile_top shows it then.',
  },
  purge: ofCode('queue', true),
  repair: ofCode('queue', false),
  'clear-audit-trail': ofCode('queue', true),
  'stop-run': ofCode('queue', false),
  'pause-group': { ...NO_COMMAND, on: 'group', permission: { as: ['pause'] }, destroys: false },
  'resume-group': { ...NO_COMMAND, on: 'group', permission: { as: ['resume'] }, destroys: false },
  'clean-group': { ...NO_COMMAND, on: 'group', permission: { as: ['remove'] }, isBlind: true, destroys: true },
  'limit-group': { ...NO_COMMAND, on: 'group', permission: { as: ['limits'] }, destroys: false },
  'clear-group': { ...NO_COMMAND, on: 'group', permission: { as: ['limits'] }, destroys: false },
  'shared-limit': {
    on: 'limit',
    permission: { as: ['limits'] },
    destroys: false,
    onTimeline: 'limit',
    command: {
      text: 'lists the limits that queues share; shows or steers one, for the whole fleet',
      example: ['', 'openai --pause --reason "new key" --for 15m', 'crm --key acme --max-running 10'],
    },
    tool: null,
  },
  'clear-shared-limit': {
    ...NO_COMMAND,
    on: 'limit',
    permission: { as: ['limits'] },
    destroys: false,
    onTimeline: 'limit',
  },
  'pause-shared-limit': {
    on: 'limit',
    permission: { as: ['pause'] },
    destroys: false,
    onTimeline: 'pause',
    command: null,
    tool: 'Pauses a limit that queues share, so that no job that needs it starts in the whole fleet.',
  },
  'resume-shared-limit': {
    on: 'limit',
    permission: { as: ['resume'] },
    destroys: false,
    onTimeline: 'resume',
    command: null,
    tool: 'Ends the pause of a limit that queues share. Where a reason was given it refuses, and says who paused it, since when and why. Ask the user, then pass confirmed.',
  },
  'cancel-batch': { ...NO_COMMAND, on: 'batch', permission: { as: ['cancel'] }, destroys: true },
  'remove-subscription': {
    on: 'topic',
    permission: { may: 'remove subscriptions' },
    destroys: true,
    command: null,
    tool: 'Ends a subscription of a topic whose code is gone: later publications add no job for it. The tool topics lists them. Ask the user before.',
  },
  'send-again': { ...NO_COMMAND, on: 'outbox', permission: { as: ['redrive'] }, isBlind: true, destroys: false },
  'discard-rows': { ...NO_COMMAND, on: 'outbox', permission: { as: ['discard'] }, isBlind: true, destroys: true },
  'run-schedule': { ...NO_COMMAND, on: 'schedule', permission: { may: 'run a recurring job' }, destroys: false },
  'pause-schedule': {
    ...NO_COMMAND,
    on: 'schedule',
    permission: { may: 'pause a recurring job' },
    destroys: false,
  },
  'resume-schedule': {
    ...NO_COMMAND,
    on: 'schedule',
    permission: { may: 'resume a recurring job' },
    destroys: false,
  },
  'set-schedule': {
    ...NO_COMMAND,
    on: 'schedule',
    permission: { may: 'create or change a recurring job' },
    encodes: true,
    destroys: false,
  },
  'remove-schedule': {
    ...NO_COMMAND,
    on: 'schedule',
    permission: { may: 'remove a recurring job' },
    destroys: true,
  },
} as const satisfies Readonly<Record<string, ActionRow>>;

type Table = typeof ACTIONS;

/** The actions, as the action log has them. */
export type ActionName = keyof Table;

type Having<Column extends object> = {
  [Name in ActionName]: Table[Name] extends Column ? Name : never;
}[ActionName];

/** An action on jobs that people do one by one. */
export type OneJobAction = Having<{ takes: readonly JobStatus[] }>;
/** An action on one job, many jobs, or all that match. */
export type JobAction = Having<{ many: object }>;
/** The action of an entry of the log: also the begin of a run over many jobs. */
export type LoggedAction = ActionName | `begin-${JobAction}`;
/** An action of the dashboard. */
export type ShownAction = Having<{ permission: object }>;
/** An action with a permission of its own, which is its name. */
type PermittedAction = Having<{ permission: { may: string } }>;
/** An action on dead letters that is a command of them. */
export type DeadLetterCommand = Having<{ verb: { of: 'deadLetters' }; command: object }>;
/** An action that is a tool of the MCP server. */
export type ToolAction = Having<{ tool: string }>;
/** An action that is a command with the name of a queue and the id of a job. */
type JobCommand = Having<{ verb: { of: 'queue' }; command: object }>;

const NAMES = Object.keys(ACTIONS) as ActionName[];

export const ONE_JOB_ACTIONS = NAMES.filter((name): name is OneJobAction => 'takes' in ACTIONS[name]);
export const JOB_ACTIONS = ONE_JOB_ACTIONS.filter((name): name is JobAction => ACTIONS[name].many !== null);
export const PERMITTED_ACTIONS = NAMES.filter((name): name is PermittedAction => {
  const { permission } = ACTIONS[name];
  return permission !== null && 'may' in permission;
});
const COMMANDS = ONE_JOB_ACTIONS.filter((name) => ACTIONS[name].command !== null);
export const JOB_COMMANDS = COMMANDS.filter((name): name is JobCommand => ACTIONS[name].verb.of === 'queue');
export const DEAD_LETTER_COMMANDS = COMMANDS.filter(
  (name): name is DeadLetterCommand => ACTIONS[name].verb.of === 'deadLetters',
);

/** Returns the action that an entry of the log is about. */
export function actionOf(logged: LoggedAction): ActionName {
  return logged.replace(/^begin-/, '') as ActionName;
}

/** Returns whether an action writes payloads, which the dashboard of another app cannot. */
export function encodesPayloads(name: ActionName): boolean {
  return 'encodes' in ACTIONS[name];
}

/** Returns the permissions that an action needs. */
export function permissionsOf(name: ActionName): readonly PermittedAction[] {
  const { permission } = ACTIONS[name];
  if (permission === null) return [];
  const own = 'may' in permission ? [name as PermittedAction] : [];
  return 'as' in permission ? [...own, ...permission.as] : own;
}

/** Returns the commands of actions on one kind of thing, with an example of each. */
export function exampleCommands(on: Row['on']): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(ACTIONS).flatMap(([name, { on: kind, command }]) =>
      kind === on && command !== null
        ? [[name, [command.example].flat().map((each) => `${name} ${each}`.trimEnd())]]
        : [],
    ),
  );
}
