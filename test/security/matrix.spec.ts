// The matrix of secrets and windows. Each place of a job has a secret of its own, early and late in its life. No window
// shows it. The windows follow from the tables of routes, commands and tools. Each is first looked at where nothing is
// hidden. A cell without the value there is absent. MATRIX=1 prints the matrix, as `npm run matrix` does.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { encrypted, type JobCodec } from 'nest-job-queue/core';
import { FIELDS, RICH, SECRETS, type Field } from './marked-queue.js';
import { Windows } from './windows.js';
import { someOf } from '../support/run/samples.js';

/** The cells that hold a value, each with why. */
const ACCEPTED: readonly { field: Field; window: RegExp; why: string }[] = [];

const SECRET_CODEC = encrypted([{ id: 'k', key: '0123456789abcdefghijklmnopqrstuvwxyzABCDEFE=' }]);

/** The set-ups: the codec of the queue, and whether the app of the dashboard has its `redact` too. */
const SETUPS: Readonly<Record<string, { codec?: JobCodec; isKnown?: false }>> = {
  'plain JSON': {},
  'the dashboard of another process': { isKnown: false },
  'instances and maps of a codec': { codec: RICH },
  encrypted: { codec: SECRET_CODEC },
};

/** Returns what all windows show, in the life of a job. */
async function textsOf(windows: Windows, isKnown?: false): Promise<Map<string, string>> {
  await windows.open(isKnown);
  const first = await windows.look(); // the job that is processing has its early parts
  const { texts: ran } = await windows.run();
  const second = await windows.look();
  const log = windows.app.log.lines.splice(0).join('\n');
  const died = await windows.die();
  const alerts = await windows.alert(); // last, because the apps of the examples take Nest's logger
  return new Map([
    ...[...first].map(([window, text]) => [`${window} (early)`, text] as const),
    ...ran,
    ...second,
    ...alerts,
    ['worker log', `${second.get('log')}\n${log}`],
    ...died,
  ]);
}

const printed: string[] = [];
const counts = { hidden: 0, absent: 0, shown: 0 };

/** Returns the cells that hold a secret: the field, and the window. Throws if no window could show a field. */
function cellsWithValue(
  setup: string,
  texts: ReadonlyMap<string, string>,
  open: ReadonlyMap<string, string>,
): string[] {
  const found: string[] = [];
  printed.push(`\n${setup}: ${texts.size} windows`);
  for (const field of FIELDS) {
    const holds = (text = '') => text.includes(SECRETS[field]);
    const cells = [...texts].map(([window, text]) => {
      const state = holds(text) ? 'shown' : holds(open.get(window)) ? 'hidden' : 'absent';
      counts[state] += 1;
      return { window, state };
    });
    const of = (wanted: string) => cells.filter(({ state }) => state === wanted).map(({ window }) => window);
    printed.push(
      `  ${field}`,
      `    hidden in ${of('hidden').join(', ')}`,
      `    absent from ${of('absent').join(', ')}`,
    );
    if (of('shown').length > 0) printed.push(`    SHOWN in ${of('shown').join(', ')}`);
    found.push(
      ...of('shown')
        .filter((window) => !ACCEPTED.some((each) => each.field === field && each.window.test(window)))
        .map((window) => `${field} in ${window}`),
    );
  }
  return found;
}

/** What the windows show where nothing is hidden, by codec. Those of the encrypted queue are those of plain JSON. */
const openly = new Map<JobCodec | undefined, Map<string, string>>();

beforeAll(async () => {
  for (const codec of someOf([undefined, RICH], 2)) openly.set(codec, await textsOf(new Windows(codec, null)));
}, 300_000);

afterAll(() => {
  if (process.env['MATRIX']) {
    const { hidden, absent, shown } = counts;
    process.stdout.write(`${printed.join('\n')}\n\ncells: ${hidden} hidden, ${absent} absent, ${shown} shown\n`);
  }
});

it('looks at each command that reads', () => new Windows().requireAllCommands());

it('has each secret in a window, where nothing is hidden', () => {
  const shown = [...openly.values()].flatMap((texts) => [...texts.values()]).join('\n');
  expect(FIELDS.filter((field) => !shown.includes(SECRETS[field]))).toEqual([]);
});

it.each(someOf(Object.entries(SETUPS), 4))('no window shows a secret of %s', async (setup, { codec, isKnown }) => {
  const texts = await textsOf(new Windows(codec), isKnown);
  expect(cellsWithValue(setup, texts, openly.get(codec) ?? openly.get(undefined)!)).toEqual([]);
  for (const [window, text] of texts) expect({ window, isEmpty: text === '' }).toEqual({ window, isEmpty: false });
  expect(texts.get('alert by slack')).toMatch(/a new error| died/);
  expect(texts.get('worker log')).toContain('[redacted]');
  expect(texts.get('uncaught error: log')).toContain('Its message is not shown');
});
