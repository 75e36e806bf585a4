import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { Observable } from 'rxjs';
import fc from '../../support/queue/properties.js';
import { InvalidPayloadError } from '#queue/errors/errors.js';
import { encodeJson } from '#queue/codec/encode-content.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { keysLike } from '../../support/redis/redis-reads.js';

function cycle(): unknown {
  const list: unknown[] = [];
  const value = { list };
  list.push(value);
  return value;
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

describe('a payload that JSON cannot carry is refused with its path, and nothing is written', () => {
  it.each<[string, string, () => unknown]>([
    ['a BigInt', 'payload.a[1].b', () => ({ a: [0, { b: 5n }] })],
    ['a function', 'payload.to', () => ({ to: () => 5 })],
    ['a symbol', 'payload[0]', () => [Symbol('x')]],
    ['NaN', 'payload.n', () => ({ n: Number.NaN })],
    ['an infinity', 'payload', () => Infinity],
    ['a Map', 'payload.m', () => ({ m: new Map() })],
    ['a Set', 'payload', () => new Set([1])],
    ['an Error', 'payload.error', () => ({ error: new TypeError('lost') })],
    ['an Error with keys', 'payload', () => Object.assign(new Error('lost'), { code: 7 })],
    ['an Error of another realm', 'payload', () => runInNewContext('new Error("lost")')],
    ['a regular expression', 'payload.match[0]', () => ({ match: [/x/] })],
    ['a Uint8Array', 'payload.bytes', () => ({ bytes: new Uint8Array([1, 2]) })],
    ['an empty Float64Array', 'payload', () => new Float64Array()],
    ['an ArrayBuffer', 'payload', () => new ArrayBuffer(2)],
    ['a DataView', 'payload', () => new DataView(new ArrayBuffer(2))],
    ['a WeakMap', 'payload', () => new WeakMap()],
    ['a promise', 'payload.later', () => ({ later: Promise.resolve(1) })],
    ['URLSearchParams', 'payload.query', () => ({ query: new URLSearchParams('a=1') })],
    ['an iterator', 'payload', () => [1].values()],
    ['private fields behind getters', 'payload', () => new (class Money { #cents = 5; get cents() { return this.#cents; } })()], // prettier-ignore
    ['a toJSON that gives a Map', 'payload', () => ({ toJSON: () => new Map() })],
    ['undefined alone', 'payload', () => undefined],
    ['what becomes undefined', 'payload', () => ({ toJSON: () => undefined })],
    ['a toJSON that gives a BigInt', 'payload.at', () => ({ at: { toJSON: () => 5n } })],
    ['a toJSON that throws', 'payload', () => ({ toJSON: () => { throw new Error('no'); } })], // prettier-ignore
    ['a toJSON that gives NaN', 'payload.at.ms', () => ({ at: { toJSON: () => ({ ms: Number.NaN }) } })],
    ['a nested toJSON that throws', 'payload', () => ({ at: [{ toJSON: () => { throw new Error('no'); } }] })], // prettier-ignore
    ['a getter that throws', 'payload', () => ({ get to() { throw new Error('no'); } })], // prettier-ignore
    ['a proxy that throws', 'payload', () => new Proxy({}, { ownKeys: () => { throw new Error('no'); } })], // prettier-ignore
    ['a date that is none', 'payload.at', () => ({ at: new Date(Number.NaN) })],
  ])('%s', async (_what, path, payload) => {
    const { queue, state } = coreQueue();
    const error = (await queue.enqueue(payload()).catch((thrown: unknown) => thrown)) as InvalidPayloadError;
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect(error.path).toBe(path);
    expect(error.message).toMatch(/: expected .+, found .+\.$/);
    expect(await keysLike(state.redis, `*${queue.name}*`)).toEqual([]);
  });

  it('nesting that is too deep', () => {
    expect(() => encodeJson('payload', nested(201), 1_000_000)).toThrow(
      /^payload(\[0\])+.*…: expected nesting of at most 200, found a deeper one, or a cycle\.$/,
    );
  });

  it.each([
    ['payload.list[0]', 'payload', cycle()],
    ['payload.a[1].list[0]', 'payload.a[1]', { same: [1], a: ['x', cycle()] }],
  ])('a cycle, named by its first repeat at %s', (path, first, payload) => {
    expect(() => encodeJson('payload', payload, 1_000_000)).toThrow(
      `${path}: expected a value without cycles, found a reference back to ${first}.`,
    );
  });

  it('names the value that JSON would lose', () => {
    expect(() => encodeJson('payload', { at: new Uint8Array(2) }, 100)).toThrow(
      'payload.at: expected a plain object or array, or what has a toJSON, found a Uint8Array, which JSON would lose.',
    );
  });

  it.each<[string, unknown, string]>([
    ["an instance of the application's class", new (class Point { x = 1; })(), '{"x":1}'], // prettier-ignore
    ['an instance without fields', new (class Ping {})(), '{}'],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), '{"a":1}'],
    [
      "another realm's object",
      runInNewContext('({ list: [{}, new Date(0)] })'),
      '{"list":[{},"1970-01-01T00:00:00.000Z"]}',
    ],
    ['a Buffer, by its toJSON', Buffer.from([7]), '{"type":"Buffer","data":[7]}'],
    ['a URL, by its toJSON', new URL('https://a.b/'), '"https://a.b/"'],
    ['an Error with a toJSON', Object.assign(new Error('x'), { toJSON: () => 'x' }), '"x"'],
    ['boxed values', [Object(1), Object('a'), Object(true)], '[1,"a",true]'],
  ])('takes %s', (_, value, json) => {
    expect(encodeJson('payload', value, 1_000)).toBe(json);
  });

  it('takes nesting up to the limit', () => {
    expect(encodeJson('payload', nested(200), 1_000_000)).toContain('deep');
  });

  it.each([
    ['ASCII', 'x'],
    ['two bytes', 'é'],
    ['three bytes', '€'],
    ['four bytes', '😀'],
  ])('is measured in bytes of JSON, in %s', (_what, letter) => {
    const text = letter.repeat(10);
    const size = Buffer.byteLength(JSON.stringify(text));
    expect(encodeJson('payload', text, size)).toBe(JSON.stringify(text));
    expect(() => encodeJson('payload', text, size - 1)).toThrow(
      `payload: expected at most ${size - 1} bytes of JSON, found ${size} bytes.`,
    );
  });

  it('over the size limit of the queue', async () => {
    const { queue, state } = coreQueue({ maxPayloadBytes: 100 });
    await expect(queue.enqueue('x'.repeat(99))).rejects.toThrow(
      'payload: expected at most 100 bytes of JSON, found 101 bytes.',
    );
    expect(await keysLike(state.redis, `*${queue.name}*`)).toEqual([]);
    await queue.enqueue('x'.repeat(98));
    await expect(queue.complete((await queue.claim())!, 'x'.repeat(99))).rejects.toThrow(
      'result: expected at most',
    );
  });
});

describe('hostile content stays data', () => {
  it.each<[string, unknown]>([
    ['__proto__', JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}')],
    ['RESP', '*3\r\n$3\r\nDEL\r\n$1\r\na\r\n'],
    ['Lua', '"]] redis.call("FLUSHALL") --[['],
    ['NUL', 'a\0b'],
    ['lone surrogates', '\uD800 and \uDC00'],
    ['separators', '\u2028\u2029\n\r\t'],
    ['a megabyte', 'x'.repeat(1_048_000)],
    ['numbers at the edge', [Number.MAX_SAFE_INTEGER, -0.1, 1e308, 5e-324]],
    ['empty things', [{}, [], '', null, false, 0]],
    ['words of the protocol', { claim_token: '', status: 'completed', id: 'other' }],
  ])('%s', async (_what, value) => {
    const { queue, state } = coreQueue();
    const { id } = await queue.enqueue(value);
    const job = (await queue.claim())!;
    expect(job.payload).toEqual(value);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(await queue.complete(job, value)).toBe(true);
    const record = (await queue.get(id))!;
    expect(record.payload).toEqual(value);
    expect(record.result).toEqual(value);
    expect(await queue.result(id)).toEqual(value);
    expect(await state.status(id)).toBe('completed');
  });

  it('an error of any shape is kept, cut to a bound', async () => {
    const { queue } = coreQueue({ maxAttempts: 10 });
    const { id } = await queue.enqueue(1);
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const thrown = [new TypeError('x'.repeat(10_000)), 'text', undefined, null, 5n, { code: 7 }, circular];
    for (const error of thrown) await queue.fail((await queue.claim())!, error);
    const { attemptLog } = (await queue.get(id))!;
    expect(attemptLog.map((entry) => entry.error!.message.slice(0, 20))).toEqual([
      'x'.repeat(20),
      'text',
      'undefined',
      'null',
      '[object BigInt]',
      '{"code":7}',
      '[object Object]',
    ]);
    expect(attemptLog[0]!.error!.message.length).toBeLessThanOrEqual(2_001);
  });

  it('any JSON value comes out as it went in', async () => {
    const { queue } = coreQueue();
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (payload) => {
        await queue.enqueue(payload);
        const job = (await queue.claim())!;
        expect(JSON.stringify(job.payload)).toBe(JSON.stringify(payload));
        await queue.complete(job, payload);
        expect(JSON.stringify((await queue.get(job.id))!.result)).toBe(JSON.stringify(payload));
      }),
      { numRuns: 100 },
    );
  });
});

it('says how to get the value of an Observable', () => {
  const observable = new Observable((subscriber) => subscriber.next(1));
  expect(() => encodeJson('result', observable, 1_000)).toThrow(
    'result: expected a value that JSON can carry, found an Observable; pass on the value of await firstValueFrom(observable).',
  );
});
