import { KEYS, type KeyEnd, type KeyType, MOST_RATES, SHARED_LIMIT_KEYS } from './key-table.js';

/** The parts of the keys of groups behind their prefix, with their types and ends. An id follows a colon. */
export const GROUP_KEYS: Readonly<Record<string, readonly [type: KeyType, end: KeyEnd]>> = {
  holds: ['hash', 'entries'],
  states: ['hash', 'entries'],
  turns: ['zset', 'entries'],
  gated: ['zset', 'entries'],
  resting: ['zset', 'entries'],
  ends: ['hash', 'entries'],
  finishes: ['zset', 'entries'],
  depths: ['zset', 'entries'],
  heads: ['zset', 'entries'],
  keyed: ['zset', 'time'],
  settings: ['hash', 'stays'],
  'waiting:': ['zset', 'entries'],
  'running:': ['zset', 'entries'],
  'state:': ['hash', 'entries'],
  'later:': ['zset', 'time'],
};

const ALL: readonly (readonly [part: string, type: KeyType])[] = [
  ...Object.values(KEYS).flatMap(([part, type]): [string, KeyType][] =>
    type === 'channel' || type === 'groups' ? [] : [[part, type]],
  ),
  ...Object.entries(GROUP_KEYS).map(([part, [type]]): [string, KeyType] => [KEYS.groupsPrefix[0] + part, type]),
];

/** The types of the keys of each queue, by the part after its name. */
const TYPES: Readonly<Record<string, KeyType>> = Object.fromEntries(ALL.filter(([part]) => !part.endsWith(':')));

/** The types of keys that end with an id, by the part before it. */
const TYPES_BEFORE_IDS: Readonly<Record<string, KeyType>> = Object.fromEntries(
  ALL.filter(([part]) => part.endsWith(':')),
);

/** The types of the keys of a batch beside its record, by the part after its id. */
const TYPES_AFTER_BATCH: Readonly<Record<string, KeyType>> = {
  '/open': 'zset',
  '/members': 'list',
  '/outcomes': 'hash',
  '/seen': 'hash',
  '/early': 'hash',
};

/** The most ids of a call whose keys are checked. */
const MOST_IDS = 20;

/** Returns the keys of a queue that end with no id, with their types. @param base the start of every key of the queue */
export function typesOfQueue(base: string): Map<string, KeyType> {
  return new Map(Object.entries(TYPES).map(([part, type]) => [base + part, type]));
}

/** Returns the given keys with their types, without the keys of another queue. */
export function typesOfKeys(base: string, keys: readonly string[]): Map<string, KeyType> {
  return new Map(
    keys.flatMap((key): [string, KeyType][] => {
      const type = typeOfKey(base, key);
      return type ? [[key, type]] : [];
    }),
  );
}

/** Returns the type of a key of a queue; undefined for a key that the queue does not have. */
function typeOfKey(base: string, key: string): KeyType | undefined {
  const part = key.startsWith(base) ? key.slice(base.length) : '';
  const start = Object.keys(TYPES_BEFORE_IDS).find((each) => part.startsWith(each) && part !== each);
  const ofBatch = start === 'batch_record:' && Object.keys(TYPES_AFTER_BATCH).find((each) => part.endsWith(each));
  return ofBatch ? TYPES_AFTER_BATCH[ofBatch] : start ? TYPES_BEFORE_IDS[start] : TYPES[part];
}

/**
 * Returns the keys that a call may have used, with their types.
 *
 * @param keys the KEYS of a script: prefixes end with a colon
 * @param ids what may follow a prefix
 */
export function typesOfCall(keys: readonly string[], ids: readonly string[]): Map<string, KeyType> {
  const base = baseOf(keys[0] ?? '');
  if (base === undefined) {
    return new Map(typesOfSharedLimit(keys[0] ?? ''));
  }
  const prefixes = keys.filter((key) => key.endsWith(':'));
  const starts = prefixes.flatMap((prefix) =>
    Object.keys(TYPES_BEFORE_IDS).filter((start) => `${base}${start}`.startsWith(prefix)),
  );
  const ofIds = starts.flatMap((start) =>
    ids.slice(0, MOST_IDS).flatMap((id) => partsOf(start).map((end) => base + start + id + end)),
  );
  return new Map([...typesOfQueue(base), ...typesOfKeys(base, [...keys, ...ofIds])]);
}

/** Returns the keys of a limit that queues share, with their types; none for another key. @param first its first key */
function typesOfSharedLimit(first: string): [string, KeyType][] {
  const isLimit = /:limit:\{.+\}$/s.test(first);
  return Object.values(isLimit ? SHARED_LIMIT_KEYS : {}).flatMap(([part, type]): [string, KeyType][] => {
    const numbers = part.endsWith(':') ? Array.from({ length: MOST_RATES }, (_, i) => String(i + 1)) : [''];
    return numbers.map((number) => [first + part + number, type]);
  });
}

function partsOf(start: string): string[] {
  return start === 'batch_record:' ? ['', ...Object.keys(TYPES_AFTER_BATCH)] : [''];
}

/** Returns the start of the keys of a queue, by the first of the KEYS of a script. */
function baseOf(first: string): string | undefined {
  const part = ['job:', ...Object.keys(TYPES)].find((each) => first.endsWith(`:${each}`));
  return part === undefined ? undefined : first.slice(0, first.length - part.length);
}
