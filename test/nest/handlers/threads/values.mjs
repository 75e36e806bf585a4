// A handler that stores values of every kind, in the process and in a thread.

class Money {
  #cents = 5;
  toJSON() {
    return this.#cents;
  }
}

class Hidden {
  #secret = 1;
  get secret() {
    return this.#secret;
  }
}

const cycle = { inner: {} };
cycle.inner.outer = cycle;

export const values = {
  money: () => ({ price: new Money(), at: [new Money()] }),
  'only money': () => new Money(),
  url: () => new URL('http://a/b'),
  date: () => ({ at: new Date(0) }),
  'invalid date': () => ({ at: new Date(NaN) }),
  buffer: () => ({ data: Buffer.from('abc') }),
  bytes: () => ({ data: new Uint8Array(2) }),
  proxy: () => new Proxy({ a: 1 }, {}),
  map: () => ({ list: [1, new Map([[1, 2]])] }),
  'only date': () => new Date(0),
  'only map': () => new Map([[1, 2]]),
  set: () => new Set([1]),
  error: () => ({ why: new RangeError('no') }),
  pattern: () => /a/,
  function: () => ({ a: { b: [() => 1] } }),
  symbol: () => Symbol('s'),
  bigint: () => ({ n: 1n }),
  nan: () => [NaN],
  cycle: () => cycle,
  getters: () => ({ hidden: new Hidden() }),
  nothing: () => undefined,
  null: () => null,
  holes: () => ({ a: undefined, b: [undefined, null] }),
  'no json': () => ({ toJSON: () => undefined }),
  'throwing json': () => ({
    toJSON() {
      throw new Error('not now');
    },
  }),
  __proto__: () => JSON.parse('{"__proto__":{"a":1}}'),
  large: () => 'x'.repeat(600_000),
  text: () => 'plain',
};

/** @param {import('nest-job-queue').ThreadJob<{ value: keyof typeof values, way: 'result' | 'progress' | 'checkpoint' }>} job */
export default async function store(job) {
  const { value, way } = job.payload;
  if (way === 'result') return values[value]();
  if (way === 'log') return job.log(values[value]()).then(() => 'stored', read);
  return job[way](values[value]()).then(() => 'stored', read);
}

function read({ name, message, code, path }) {
  return { name, message, code, path };
}
