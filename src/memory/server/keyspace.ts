// The keys of a server in memory, with their values and lifetimes.
import type { Dialect } from '../lua/dialect.js';
import { refuse } from './arguments.js';
import { KeptMap, type Hash, type List, type SortedSet, type Stream, type Text } from './containers.js';

export type Value = Text | Hash | List | SortedSet | Stream;

export interface Entry {
  value: Value;
  /** The time of its expiry in ms; undefined for never. */
  expiresAt: number | undefined;
}

/** The server around the keys. */
interface KeyspaceHost {
  readonly dialect: Dialect;
  /** Returns the time of the step that runs, in microseconds since 1970. */
  nowUs(): number;
  /** Draws a number from 0 to 1. */
  random(): number;
  /** Returns the number of subscribers that get the message. */
  publish(channel: string, message: string): number;
  subscribersOf(channel: string): number;
  /** Called when fields of a hash are written. */
  readonly hashWritten?: ((key: string, fields: readonly string[]) => void) | undefined;
  /** Called when a sorted set or a list has got an item. */
  filled(key: string): void;
}

/** The number of keys that one sweep looks at. */
const SWEPT = 8;

export class Keyspace {
  private readonly entries = new KeptMap<Entry>();
  /** Where the sweep is. */
  private cursor = this.entries.pairs();

  /** The entries before the trial that runs, by the keys that it has touched. */
  private untouched: Map<string, Entry | undefined> | undefined;

  constructor(readonly host: KeyspaceHost) {}

  get size(): number {
    return this.entries.size;
  }

  nowMs(): number {
    return Math.floor(this.host.nowUs() / 1_000);
  }

  entry(key: string): Entry | undefined {
    if (this.untouched !== undefined) this.touch(key, this.untouched);
    const entry = this.entries.get(key);
    if (entry !== undefined && entry.expiresAt !== undefined && entry.expiresAt <= this.nowMs()) {
      this.entries.delete(key);
      return undefined;
    }
    return entry;
  }

  /** Returns the value of a key that must have this type, if it has one. @throws LuaError with WRONGTYPE */
  read<Type extends Value['type']>(key: string, type: Type): Extract<Value, { type: Type }> | undefined {
    const value = this.entry(key)?.value;
    if (value === undefined) return undefined;
    if (value.type !== type) refuse('WRONGTYPE Operation against a key holding the wrong kind of value');
    return value as Extract<Value, { type: Type }>;
  }

  /** Returns the value of a key, which is made if there is none. */
  write<Made extends Value>(key: string, type: Made['type'], make: () => Made): Made {
    const known = this.read(key, type);
    if (known !== undefined) return known as Value as Made;
    const value = make();
    this.put(key, value);
    return value;
  }

  put(key: string, value: Value, expiresAt?: number): void {
    if (this.untouched !== undefined) this.touch(key, this.untouched);
    this.entries.set(key, { value, expiresAt });
  }

  delete(key: string): boolean {
    return this.entry(key) !== undefined && this.entries.delete(key);
  }

  /** Deletes a key that has become empty. */
  settle(key: string, value: Value): void {
    if (value.size === 0) this.entries.delete(key);
  }

  /** Lets an entry expire. A time that is over deletes it. */
  expire(key: string, entry: Entry, expiresAt: number): void {
    if (expiresAt <= this.nowMs()) this.entries.delete(key);
    else entry.expiresAt = expiresAt;
  }

  /** Returns all keys that have not expired. */
  keys(): string[] {
    return this.entries.keys().filter((key) => this.entry(key));
  }

  clear(): void {
    this.entries.clear();
  }

  /** Runs something, and takes back all that it has changed. */
  trial<Result>(run: () => Result): Result {
    const untouched = new Map<string, Entry | undefined>();
    this.untouched = untouched;
    try {
      return run();
    } finally {
      this.untouched = undefined;
      untouched.forEach((entry, key) => (entry ? this.entries.set(key, entry) : this.entries.delete(key)));
    }
  }

  /** Keeps an entry as it is, and puts a copy in its place for the trial. */
  private touch(key: string, untouched: Map<string, Entry | undefined>): void {
    if (untouched.has(key)) return;
    const entry = this.entries.get(key);
    untouched.set(key, entry);
    if (entry) this.entries.set(key, { value: entry.value.clone(), expiresAt: entry.expiresAt });
  }

  /** Deletes those of the next few keys that have expired. So a key goes that nobody asks for. */
  sweep(): void {
    for (let i = 0; i < SWEPT; i++) {
      const { done, value } = this.cursor.next();
      if (done) {
        this.cursor = this.entries.pairs();
        return;
      }
      this.entry(value[0]);
    }
  }
}
