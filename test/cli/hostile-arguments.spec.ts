// What the command line says about arguments that it does not understand. They may come from a script, not from a person.
import { afterEach, expect, it, jest } from '@jest/globals';
import { main } from '#cli/program.js';

afterEach(() => {
  jest.restoreAllMocks();
});

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
    expect(said).not.toMatch(/[\u001b\u009b\u202e]|^forged/m);
    expect(said.length).toBeGreaterThan(0);
  }
});

it('keeps the suggestion on a line of its own', async () => {
  expect(await saidTo('stats', '--jsno')).toMatch(/^error: unknown option '--jsno'\n\(Did you mean --json\?\)\n/);
});
