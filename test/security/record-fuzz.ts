// A fuzz of what reads records for windows: hashes of any make, read as every window reads them.
import { inspect } from 'node:util';
import { encrypted, type JobCodec, type Redact } from 'nest-job-queue/core';
import { failedJobOf } from '#dashboard/job-search.js';
import { JobDescriber } from '#dashboard/views/job-describer.js';
import { fileOf, JOB_PARTS } from '#dashboard/views/job-file.js';
import { jobLabel } from '#inspect/job-words.js';
import { compileSearch } from '#inspect/search.js';
import { type JobSigns, whyNotRunning } from '#inspect/why-not-running.js';
import { jobText } from '#cli/job-text.js';
import { Output } from '#cli/output.js';
import { valueOf } from '#cli/text.js';
import { codedCalls } from '#queue/store/coded-calls.js';
import { JOB_STATUSES, type JobRecord } from '#queue/model/job.js';
import { decodeJobHash } from '#queue/replies/decode-job.js';
import { jsonOf, ShownContent, type ShownJob } from '#queue/store/shown-content.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { FAILURE_PREFIX } from '#queue/validation/names.js';
import fc from '../support/queue/properties.js';
import { hostileValue, hostileWord } from './hostile.js';

/** The value under each hidden name. It is quoted wherever a job has text. */
export const HIDDEN = 'DE02-1203-HIDDEN';
const QUEUE = 'pay';
const KEY = { id: 'k', key: Buffer.from('0123456789abcdefghijklmnopqrstuv') };

class Account {
  readonly #number: string;

  constructor(readonly iban: string) {
    this.#number = iban;
  }

  toString(): string {
    return this.#number;
  }
}

/** A codec whose values are no plain data. */
const rich: JobCodec = {
  name: 'rich',
  encode: (value) => value,
  decode: (value) => ({
    map: new Map<unknown, unknown>([
      ['iban', HIDDEN],
      [{ iban: HIDDEN }, 1],
    ]),
    account: new Account(HIDDEN),
    big: 10n,
    at: new Date(Number.NaN),
    stored: value,
    get getter(): never {
      throw new Error(HIDDEN);
    },
  }),
};
const CODECS = { none: undefined, rich, encrypted: encrypted([KEY]) } as const;

const circular: Record<string, unknown> = {};
circular['self'] = circular;

/** What queues hide, by a name for the output. */
const REDACTS: Readonly<Record<string, readonly Redact[]>> = {
  nothing: [],
  names: [['iban']],
  'names of two': [['other'], ['IBAN']],
  everything: [() => '[redacted]'],
  'what throws': [
    () => {
      throw new Error(HIDDEN);
    },
  ],
  'what returns a circle': [() => circular],
  'what returns a bigint': [() => 10n],
  'what returns a proxy': [
    () =>
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error(HIDDEN);
          },
        },
      ),
  ],
};

/** A tree with the hidden value below its name, at any depth. */
const tree: fc.Arbitrary<unknown> = fc
  .tuple(fc.nat(4), fc.oneof(hostileValue, fc.constant(`note on ${HIDDEN}`)), fc.boolean())
  .map(([depth, beside, asKey]) => {
    let value: unknown = { iban: asKey ? { [HIDDEN]: 1 } : HIDDEN, beside };
    for (let i = 0; i < (depth === 4 ? 60 : depth); i++) value = i % 2 === 0 ? { value } : [value];
    return value;
  });

const quote = fc.constantFrom(
  HIDDEN,
  `no account ${HIDDEN}`,
  JSON.stringify(`"${HIDDEN}"`),
  `${'x'.repeat(600)}${HIDDEN.slice(0, 13)}…`,
);
const error = fc.oneof(
  {
    arbitrary: quote.map((text) => ({
      name: text,
      message: text,
      stack: text,
      cause: { name: 'E', message: text },
    })),
    weight: 3,
  },
  { arbitrary: hostileValue, weight: 1 },
);
const failure = fc.oneof(
  tree.map((payload) => ({
    id: 'a',
    name: QUEUE,
    payload: JSON.stringify(payload),
    error: HIDDEN,
    attempts: '1',
    failedAtMs: '1',
  })),
  tree.map((payload) => ({ id: 'a', name: QUEUE, payload, error: HIDDEN, attempts: 1 })),
  tree.map((payload) => ({ payload: JSON.stringify(payload), error: HIDDEN })),
  fc.constantFrom(null, 5, 'text', [], {}),
);
const json = (value: fc.Arbitrary<unknown>) =>
  fc.oneof(
    { arbitrary: value.map((of) => JSON.stringify(of) ?? ''), weight: 6 },
    { arbitrary: hostileWord, weight: 1 },
  );
const lines = (value: fc.Arbitrary<unknown>) =>
  fc.array(json(value), { maxLength: 3 }).map((all) => all.join('\n'));
const number = fc.oneof(
  { arbitrary: fc.nat(2 ** 41).map(String), weight: 3 },
  { arbitrary: hostileWord, weight: 1 },
);
const optional = (value: fc.Arbitrary<string>) => fc.option(value, { nil: undefined });

/** A job's hash, with its payload in a field of its own, since its form depends on the codec. */
const hash = fc.record({
  name: optional(fc.oneof(hostileWord, fc.constantFrom(QUEUE, `${FAILURE_PREFIX}${QUEUE}`))),
  status: optional(
    fc.oneof({ arbitrary: fc.constantFrom(...JOB_STATUSES), weight: 5 }, { arbitrary: hostileWord, weight: 1 }),
  ),
  last_error: optional(quote),
  attempt_log: optional(
    lines(
      fc.oneof(
        hostileValue,
        fc.record({
          attempt: fc.nat(3),
          startedAt: fc.nat(),
          endedAt: hostileValue,
          outcome: hostileWord,
          worker: hostileValue,
          error,
        }),
      ),
    ),
  ),
  log: optional(
    lines(fc.oneof(hostileValue, fc.record({ at: hostileValue, message: fc.oneof(quote, hostileValue) }))),
  ),
  steps: optional(fc.oneof(hostileWord, fc.constant(`look up\t1\t1\t"${HIDDEN}"\n`))),
  result: optional(json(tree)),
  progress: optional(json(fc.oneof(tree, fc.nat(100)))),
  checkpoint: optional(json(tree)),
  options: optional(json(hostileValue)),
  ...Object.fromEntries(
    [
      'attempts',
      'errors',
      'crashes',
      'priority',
      'fence',
      'max_attempts',
      'enqueued_at_ms',
      'due_at_ms',
      'claimed_at_ms',
      'completed_at_ms',
      'failed_at_ms',
      'cancelled_at_ms',
      'expires_at_ms',
    ].map((field) => [field, optional(number)]),
  ),
  ...Object.fromEntries(
    ['worker', 'batch', 'after', 'dependents', 'schedule', 'redriven_from', 'error_kind'].map((field) => [
      field,
      optional(hostileWord),
    ]),
  ),
  ...Object.fromEntries(
    ['left_out:payload', 'left_out:progress', 'left_out:log'].map((field) => [
      field,
      fc.option(number, { nil: undefined, freq: 8 }),
    ]),
  ),
});

const search = fc.constantFrom(
  '',
  'iban',
  'payload:iban',
  'payload.iban:DE*',
  'payload.value.iban:x',
  'error:account',
  'state:failed',
  'tag:a',
  'name:p*',
);

/** A case: a stored job of some make, and who looks at it. */
export const storedJob = fc.record({
  id: fc.oneof(hostileWord, fc.constantFrom('job-1', `${FAILURE_PREFIX}a:1`)),
  hash,
  payload: fc.oneof(
    { arbitrary: tree.map((value) => ({ of: 'job', value })), weight: 3 },
    { arbitrary: failure.map((value: unknown) => ({ of: 'failure job', value })), weight: 2 },
  ),
  form: fc.constantFrom('json', 'broken', 'absent', 'coded', 'of another codec'),
  length: fc.constantFrom(0, 0, 5_000, 70_000, 300_000),
  codec: fc.constantFrom(...(Object.keys(CODECS) as (keyof typeof CODECS)[])),
  redact: fc.constantFrom(...Object.keys(REDACTS)),
  ofWindow: fc.option(fc.constant<Redact>(['iban']), { nil: undefined }),
  search,
});
type Case = typeof storedJob extends fc.Arbitrary<infer Value> ? Value : never;

/** Returns the record as a process with the codec reads it. */
function recordOf({
  id,
  hash: stored,
  payload: { of: kind, value: payload },
  form,
  length,
  codec: name,
}: Case): JobRecord {
  const codec = CODECS[name];
  const text = length === 0 ? {} : { filler: 'y'.repeat(length) };
  const value =
    typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? { ...payload, ...text } : payload;
  const coded = {
    $codec: form === 'coded' ? (codec?.name ?? 'lost') : 'lost',
    value: codec?.encode(value, 'payload', { queue: QUEUE, field: 'payload', id }) ?? value,
  };
  const forms = {
    json: JSON.stringify(value),
    broken: `{"iban":"${HIDDEN}`,
    absent: undefined,
    coded: JSON.stringify(coded),
    'of another codec': JSON.stringify(coded),
  };
  // A damaged failure job still has the id or the name of one.
  const isNamed = id.startsWith(FAILURE_PREFIX) || stored['name']?.startsWith(FAILURE_PREFIX);
  const named = kind === 'job' || isNamed ? {} : { name: `${FAILURE_PREFIX}${QUEUE}` };
  const fields = Object.entries({ ...stored, ...named, payload: forms[form] }).filter(([, of]) => of !== undefined);
  const record = decodeJobHash(QUEUE, id, Object.fromEntries(fields) as Record<string, string>);
  const calls = {
    get: () => ({ script: 'get', decode: () => record }),
    deadLetters: {},
    batches: {},
    schedules: {},
  };
  return codedCalls(calls as unknown as StoreCalls, codec, QUEUE, () => undefined)
    .get({ id })
    .decode(null)!;
}

const options = {
  label: ({ payload }: { payload: unknown }) => (payload as { value?: { toFixed(): string } })?.value?.toFixed(),
};
const out = new Output({ stdout: { isTTY: false }, stderr: {}, env: {} } as never, false, 0);

/** Reads a job as each window does, and returns all that they show. */
function windowsOf(job: JobRecord, content: ShownContent, text: string): unknown[] {
  const shown: ShownJob = content.record(job);
  const redactor = { record: () => content.record(job), hidesPayload: () => true };
  const describer = new JobDescriber(options as never, redactor as never);
  const signs = {
    stats: { unserved: [], workers: 0 },
    workers: [],
    limits: {},
    schedules: [],
  } as unknown as JobSigns;
  const reason = job.status === 'failed' ? whyNotRunning(shown, signs) : undefined;
  const { look } = compileSearch(text);
  return [
    jsonOf(shown),
    jobLabel(shown),
    describer.row(job),
    describer.view(job, { actions: [], signs: { ...signs, job } as never, streamed: [] }),
    failedJobOf(shown),
    JOB_PARTS.map((part) => fileOf(shown, part)),
    valueOf(jobText(shown, reason, out, true)),
    look(shown),
    reason,
  ];
}

/** Reads a job in every window. Throws if a window fails, or shows a hidden value. */
export function readEverywhere(drawn: Case): void {
  const { redact, ofWindow } = drawn;
  const content = new ShownContent(REDACTS[redact]!, ofWindow);
  const shown = windowsOf(recordOf(drawn), content, drawn.search);
  const said = JSON.stringify(shown);
  const hides = redact !== 'nothing' || ofWindow !== undefined;
  const { id: _id, ...rest } = drawn;
  if (hides && said.includes(HIDDEN.slice(0, 12))) {
    throw new Error(
      `hidden value out: ${said.slice(Math.max(0, said.indexOf(HIDDEN.slice(0, 12)) - 200)).slice(0, 400)} of ${inspect(rest, { depth: 5 })}`,
    );
  }
}
