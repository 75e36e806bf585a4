// What a call does when the file of the script texts is gone, or is that of another version.
import { createHash } from 'node:crypto';
import { afterEach, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { scriptDigests } from '#queue/digests.generated.js';
import { luaScripts, transitions, type LuaScriptName } from '#queue/lua.generated.js';
import { isPassing } from '#queue/redis/passing-errors.js';
import type { AuditMark } from '#queue/transport/audited-script.js';
import { RetryingTransport } from '#queue/transport/retrying-transport.js';
import { FilesReplacedError } from '#queue/errors/errors.js';
import { ScriptRunner, type ScriptCall } from '#queue/transport/script-runner.js';

const texts = luaScripts as Record<string, string>;
const digests = scriptDigests as Record<string, string>;
/** A script of this version alone. The tests say how its text is read. */
const LATE = 'late' as LuaScriptName;
const AUDIT: AuditMark = { keys: ['s', 'a', 'b'], maxEntries: 1 };

const call = (script: LuaScriptName, audit?: AuditMark): ScriptCall<string> => ({
  script,
  keys: [],
  args: [],
  decode: String,
  ...(audit && { audit }),
});

/** Returns a client of a server that knows only these digests, and the texts that it was sent. */
function serverWith(known: readonly string[]) {
  const client = new Redis({ lazyConnect: true });
  client.status = 'ready';
  const sent: string[] = [];
  jest.spyOn(client, 'sendCommand').mockImplementation(async ({ name, args }) => {
    if (name === 'eval') sent.push(String(args[0]));
    else if (!known.includes(String(args[0])))
      throw Object.assign(new Error('NOSCRIPT No matching script.'), { name: 'ReplyError' });
    return 'done';
  });
  return { client, sent, runner: new ScriptRunner(client) };
}

afterEach(() => {
  delete texts[LATE];
  delete digests[LATE];
});

it.each<[string, () => string | undefined]>([
  ['a text of another version', () => 'return 1'],
  ['a file without the script', () => undefined],
  [
    'a file that is gone',
    () => {
      throw Object.assign(new Error("Cannot find module './lua.generated.js'"), { code: 'MODULE_NOT_FOUND' });
    },
  ],
])('fails only the call whose text is needed: %s', async (_, get) => {
  const { client, sent, runner } = serverWith([digests.queueStats!]);
  digests[LATE] = 'the digest of this version';
  Object.defineProperty(texts, LATE, { get, configurable: true });
  const outcomes = [
    { ok: true, reply: 'done' },
    { ok: false, error: expect.any(FilesReplacedError) },
  ];
  expect(await runner.runTogether([call('queueStats'), call(LATE)])).toEqual(outcomes);
  expect(await new RetryingTransport(client, runner, console).carry([call('queueStats'), call(LATE)])).toEqual(
    outcomes,
  );
  await expect(runner.run(call(LATE))).rejects.toMatchObject({
    code: 'FILES_REPLACED',
    message: expect.stringMatching(
      /^The files of nest-job-queue were replaced under this process; restart it\. Found /,
    ),
  });
  expect(sent).toEqual([]);
});

it.each(['audited', 'auditFrame'])('fails a call in the audit frame, where another %s is found', async (part) => {
  const { sent, runner } = serverWith([digests.queueStats!]);
  // A frame is made once for each script, so each case has a script of its own.
  const name = `${part} of a test` as LuaScriptName;
  const spoiled = part === 'auditFrame' ? part : name;
  (transitions as Record<string, string>)[name] = 'complete';
  texts[name] = '#!lua\nreturn 1\n';
  digests[name] = createHash('sha1').update(texts[name]).digest('hex');
  const { [spoiled]: digest } = digests;
  try {
    // Another digest, and not another text: a text that this process has checked is not checked again.
    digests[spoiled] = 'the digest of this version';
    expect(await runner.runTogether([call(name, AUDIT), call('queueStats')])).toEqual([
      { ok: false, error: expect.any(FilesReplacedError) },
      { ok: true, reply: 'done' },
    ]);
    await expect(runner.run(call(name, AUDIT))).rejects.toBeInstanceOf(FilesReplacedError);
    expect(sent).toEqual([]);
  } finally {
    digests[spoiled] = digest!;
    for (const each of [texts, digests, transitions as Record<string, string>]) delete each[name];
  }
});

it('sends the text of this version where the server lacks it', async () => {
  const { sent, runner } = serverWith([]);
  expect(await runner.run(call('queueStats'))).toBe('done');
  expect(sent).toEqual([texts.queueStats]);
});

it('does not wait for the end of such an error, also of the loader of a late file', () => {
  expect(isPassing(new FilesReplacedError('no script'))).toBe(false);
  expect(isPassing(Object.assign(new Error('x'), { code: FilesReplacedError.code }))).toBe(false);
});
