// What the command line says about arguments that it does not understand. They may come from a script, not from a person.
import { expect, it, jest } from '@jest/globals';
import { main } from '#cli/program.js';
import { withoutPasswords } from '#queue/errors/show.js';

/** Runs a command that ends before it needs Redis. Returns what it wrote to stderr. */
async function saidTo(...args: string[]): Promise<string> {
  let said = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  expect(await main(['node', 'nest-job-queue', ...args])).toBe(2);
  jest.restoreAllMocks();
  return said;
}

const HOSTILE = '\u001b[2J\u009b31m\nforged: all is well\u202e';

it.each([
  ['a command', [HOSTILE]],
  ['an option', [`--${HOSTILE}`]],
  ['an option of a command', ['stats', `--${HOSTILE}`]],
  ['an argument too many', ['completion', 'bash', HOSTILE]],
  ['a choice', ['completion', HOSTILE]],
  ['a number', ['list', 'jobs', '--limit', HOSTILE]],
  ['an address', ['stats', '--redis', HOSTILE]],
])('escapes %s that it does not know, in words and in JSON', async (_, args) => {
  for (const given of [args, [...args, '--json']]) {
    const said = await saidTo(...given);
    expect(said).not.toMatch(/[\p{Cc}\u202e](?<!\n)|^forged/mu);
    expect(said.length).toBeGreaterThan(0);
  }
});

it.each([
  ['an address with one slash', ['stats', '--redis', 'redis:/:hunter2@localhost']],
  ['an address without a colon', ['stats', '--redis', 'redis//:hunter2@localhost']],
  ['an address with a path in its password', ['stats', '--redis', 'redis://:1/hunter2@localhost']],
  ['an address whose password is a parameter', ['stats', '--redis', 'redis://localhost?password=hunter2']],
  ['an address with a password in place of the database', ['stats', '--redis', 'redis://localhost:1/hunter2']],
  ['a name with a password in place of the database', ['stats', '--redis', 'localhost:1/hunter2']],
  ['an address with a password as its fragment', ['stats', '--redis', 'redis://localhost:1/0#hunter2']],
  ['such an address in place of a command', ['redis://localhost:1/hunter2']],
  ['such an address in place of a queue', ['stats', 'redis://localhost:1/hunter2', '--limit', 'x']],
  ['such an address of the dashboard', ['dashboard', '--redis', 'a=redis://localhost:1/hunter2']],
  ['a misspelled option', ['stats', '--redsi=redis://:hunter2@localhost:6379']],
  ['a misspelled option with a bare password', ['stats', '--redsi=:hunter2@localhost']],
  ['an address in place of a command', ['redis://:hunter2@localhost:6379']],
  ['a password with a quote', ["redis://:h'hunter2@localhost:6379"]],
  ['an address in place of a queue', ['stats', 'redis://:hunter2@localhost:6379', '--limit', 'x']],
  ['an address in place of a number', ['list', 'jobs', '--limit', 'redis://:hunter2@localhost']],
])('shows no password of %s, in words and in JSON', async (_, args) => {
  for (const given of [args, [...args, '--json'], [...args, '--verbose']]) {
    const said = await saidTo(...given);
    expect(said).not.toContain('hunter2');
    expect(said.length).toBeGreaterThan(0);
  }
});

it('shows an address with a password in an error of the library without it', () => {
  const message =
    'expected no queue "redis://:hunter2@localhost:6379", found Redis at localhost:6379, redis://host:port';
  expect(withoutPasswords(message)).toBe(
    'expected no queue …@localhost:6379", found Redis at localhost:6379, redis://host:port',
  );
});

it.each([
  [['stats', '--jsno'], 'There is no option --jsno. Did you mean --json?'],
  [['statz'], 'There is no command statz. Did you mean stats?'],
  [['list', 'mail'], 'The argument <status> is missing.'],
  [
    ['list', 'mail', 'done'],
    '<status>: expected pending, scheduled, processing, completed, failed, cancelled, found "done". Did you mean completed?',
  ],
  [
    ['list', 'mail', 'running'],
    '<status>: expected pending, scheduled, processing, completed, failed, cancelled, found "running". Did you mean processing?',
  ],
  [['schedules', 'mail', 'done'], '<action>: expected pause, resume, run, remove, found "done".'],
  [['list', 'mail', 'failed', '--limit'], '--limit needs its value <n>.'],
  [['queues', 'mail'], 'queues: expected at most 0 arguments, found 1.'],
  [['outbox', 'sql', '--dialect', 'db2'], '--dialect: expected postgres, mysql, sqlite, found "db2".'],
])('explains the error in %j in our words, and in JSON', async (args, words) => {
  expect(await saidTo(...args)).toBe(`${words}\nAdd --help for its arguments, options and an example.\n`);
  expect(JSON.parse(await saidTo('--json', ...args))).toEqual({ error: { code: 'USAGE', message: words } });
});
