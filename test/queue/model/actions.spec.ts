// The table of what people do. Surfaces follow from its rows, so that no list of actions stands elsewhere.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import {
  ACTIONS,
  type ActionRow,
  ONE_JOB_ACTIONS,
  PERMITTED_ACTIONS,
  permissionsOf,
} from '#queue/model/actions.js';
import type { JobStatus } from '#queue/model/job.js';
import { JobQueue } from '#queue/job-queue.js';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.includes('.generated.'))
  .map((file) => ({ file, text: readFileSync(`src/${file}`, 'utf8') }));

/** Returns the files of src that have a name as a text of its own. */
const filesWith = (name: string) =>
  sources.filter(({ text }) => text.includes(`'${name}'`) || text.includes(`'${name} `)).map(({ file }) => file);

it('has the name of a job action in the table, in its verb, and in the public type of permissions', () => {
  expect(filesWith('run-again').toSorted()).toEqual([
    'dashboard/dashboard-options.ts',
    'queue/job-admin.ts',
    'queue/model/actions.ts',
  ]);
});

it('has no list of actions beside the table', () => {
  const names = Object.keys(ACTIONS).filter((name) => name.includes('-'));
  const lists = sources
    .map(({ file, text }) => ({ file, named: names.filter((name) => text.includes(`'${name}'`)) }))
    .filter(({ named }) => named.length > 2)
    .map(({ file }) => file);
  expect(lists.toSorted()).toEqual([
    'cli/commands/shared-limit-command.ts', // one command, with an entry for each thing that it does
    'cli/mcp/tools.ts', // the parameters of each tool
    'dashboard/dashboard-options.ts', // the public type
    'queue/model/actions.ts',
    'queue/operate/groups.ts', // the verbs of groups, each with its entry in the log
    'queue/schedules/schedules.ts', // the verbs of schedules
  ]);
});

it('lends only permissions that some action has', () => {
  const names = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];
  for (const name of names) {
    expect(PERMITTED_ACTIONS).toEqual(expect.arrayContaining([...permissionsOf(name)]));
  }
  expect(permissionsOf('redrive-as-new')).toEqual(['redrive']);
  expect(permissionsOf('edit')).toEqual(['edit', 'redrive']);
  expect(permissionsOf('purge')).toEqual([]);
});

it('names a method of the queue for each action on jobs', () => {
  const rows: ActionRow[] = Object.values(ACTIONS);
  for (const row of rows) {
    if (row.takes !== undefined && row.verb.of === 'queue') {
      expect(JobQueue.prototype).toHaveProperty(row.verb.name, expect.any(Function));
    }
  }
});

it('does not compile a row without its words, its permission or its command', () => {
  const whole = {
    on: 'job',
    permission: { may: 'bury jobs' },
    destroys: true,
    takes: ['failed'],
    verb: { of: 'deadLetters', name: 'discard' },
    button: 'Bury',
    done: 'buried',
    does: 'It is buried.',
    many: null,
    command: null,
    tool: null,
  } as const satisfies ActionRow;
  const { permission: _permission, ...unpermitted } = whole;
  const { done: _done, ...wordless } = whole;
  const { command: _command, ...uncommanded } = whole;
  const { destroys: _destroys, ...harmless } = whole;
  // @ts-expect-error a row needs its permission
  unpermitted satisfies ActionRow;
  // @ts-expect-error a row needs its words
  wordless satisfies ActionRow;
  // @ts-expect-error a row needs a command, or null
  uncommanded satisfies ActionRow;
  // @ts-expect-error a row says whether it destroys
  harmless satisfies ActionRow;
  expect(whole.done).toBe('buried');
});

it.each<[JobStatus, string[]]>([
  ['pending', ['cancel', 'remove']],
  ['scheduled', ['cancel', 'promote', 'remove']],
  ['processing', ['cancel']],
  ['completed', ['remove', 'run-again']],
  ['cancelled', ['remove', 'run-again']],
])('offers for a %s job what the queue does with it: %j', (status, actions) => {
  const offered = ONE_JOB_ACTIONS.filter((action) => ACTIONS[action].takes.some((taken) => taken === status));
  expect(offered.toSorted()).toEqual(actions);
});
