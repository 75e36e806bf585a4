// The keys of a server in memory, with their lifetimes. Below are the types of their values: texts, hashes, lists, sorted
// sets and streams. Texts are bytes, one character each.
import type { Dialect } from '../lua/numbers.js';
import { refuse } from './arguments.js';

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

/**
 * A map whose keys often go and come again. It keeps the place of a key that went, and forgets such places together. A Map
 * of V8 keeps each deleted place in the chain of its bucket. One key that goes and comes among 20,000 takes 20 µs a turn.
 */
class KeptMap<Kept> {
  private readonly map = new Map<string, Kept | undefined>();
  private gone = 0;

  get size(): number {
    return this.map.size - this.gone;
  }

  get(key: string): Kept | undefined {
    return this.map.get(key);
  }

  set(key: string, value: Kept): void {
    const { map } = this;
    if (this.gone > 0 && map.has(key) && map.get(key) === undefined) this.gone--;
    map.set(key, value);
  }

  delete(key: string): boolean {
    const { map } = this;
    if (map.get(key) === undefined) return false;
    map.set(key, undefined);
    if (++this.gone > 64 && this.gone * 2 > map.size) this.forget();
    return true;
  }

  clear(): void {
    this.map.clear();
    this.gone = 0;
  }

  clone(): KeptMap<Kept> {
    const copy = new KeptMap<Kept>();
    this.map.forEach((value, key) => void (value !== undefined && copy.set(key, value)));
    return copy;
  }

  keys(): string[] {
    const keys: string[] = [];
    this.map.forEach((value, key) => void (value !== undefined && keys.push(key)));
    return keys;
  }

  /** Returns an iterator over all places, also those of keys that went. It may be kept while keys come and go. */
  pairs(): IterableIterator<[string, Kept | undefined]> {
    return this.map.entries();
  }

  private forget(): void {
    const { map } = this;
    const kept = [...map].filter(([, value]) => value !== undefined);
    map.clear();
    for (const [key, value] of kept) map.set(key, value);
    this.gone = 0;
  }
}

/** The most fields of a hash that is a list of them. */
const FLAT_FIELDS = 48;

/** A hash: a list of fields and values while it is small, else a map. */
export class Hash {
  readonly type = 'hash';
  private flat: string[] | undefined = [];
  private map: KeptMap<string> | undefined;

  get size(): number {
    return this.flat ? this.flat.length / 2 : this.map!.size;
  }

  get(field: string): string | undefined {
    const { flat } = this;
    if (!flat) return this.map!.get(field);
    for (let i = 0; i < flat.length; i += 2) {
      if (flat[i] === field) return flat[i + 1];
    }
    return undefined;
  }

  set(field: string, value: string): void {
    const { flat } = this;
    if (!flat) {
      this.map!.set(field, value);
      return;
    }
    for (let i = 0; i < flat.length; i += 2) {
      if (flat[i] === field) {
        flat[i + 1] = value;
        return;
      }
    }
    flat.push(field, value);
    if (flat.length > 2 * FLAT_FIELDS) this.grow(flat);
  }

  delete(field: string): boolean {
    const { flat } = this;
    if (!flat) return this.map!.delete(field);
    for (let i = 0; i < flat.length; i += 2) {
      if (flat[i] === field) {
        flat.splice(i, 2);
        return true;
      }
    }
    return false;
  }

  keys(): string[] {
    return this.flat ? this.flat.filter((_, i) => i % 2 === 0) : this.map!.keys();
  }

  clone(): Hash {
    const copy = new Hash();
    copy.flat = this.flat?.slice();
    copy.map = this.map?.clone();
    return copy;
  }

  private grow(flat: readonly string[]): void {
    const map = new KeptMap<string>();
    for (let i = 0; i < flat.length; i += 2) map.set(flat[i]!, flat[i + 1]!);
    this.flat = undefined;
    this.map = map;
  }
}

/** A list, cheap at both ends: a ring whose size is a power of two. */
export class List {
  readonly type = 'list';
  private ring: string[] = Array.from({ length: 8 }, () => '');
  private head = 0;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Returns an item; a place below zero counts from the end. */
  at(index: number): string | undefined {
    const place = index < 0 ? this.count + index : index;
    return place < 0 || place >= this.count ? undefined : this.ring[(this.head + place) & (this.ring.length - 1)];
  }

  /** Replaces an item; false if there is none at the place. */
  put(index: number, value: string): boolean {
    const place = index < 0 ? this.count + index : index;
    if (place < 0 || place >= this.count) return false;
    this.ring[(this.head + place) & (this.ring.length - 1)] = value;
    return true;
  }

  /** Returns the items from one place to another, both included. */
  slice(from: number, to: number): string[] {
    const items: string[] = [];
    for (let i = from; i <= to; i++) items.push(this.ring[(this.head + i) & (this.ring.length - 1)]!);
    return items;
  }

  all(): string[] {
    return this.slice(0, this.count - 1);
  }

  push(value: string): void {
    this.grow();
    this.ring[(this.head + this.count) & (this.ring.length - 1)] = value;
    this.count++;
  }

  unshift(value: string): void {
    this.grow();
    this.head = (this.head - 1) & (this.ring.length - 1);
    this.ring[this.head] = value;
    this.count++;
  }

  pop(): string | undefined {
    if (this.count === 0) return undefined;
    return this.clear((this.head + --this.count) & (this.ring.length - 1));
  }

  shift(): string | undefined {
    if (this.count === 0) return undefined;
    const value = this.clear(this.head);
    this.head = (this.head + 1) & (this.ring.length - 1);
    this.count--;
    return value;
  }

  removeAt(index: number): void {
    if (index === 0) this.shift();
    else if (index === this.count - 1) this.pop();
    else this.replace(this.all().toSpliced(index, 1));
  }

  replace(items: string[]): void {
    let size = 8;
    while (size < items.length) size *= 2;
    this.count = items.length;
    this.ring = items;
    this.ring.length = size;
    this.head = 0;
  }

  clone(): List {
    const copy = new List();
    copy.replace(this.all());
    return copy;
  }

  private clear(place: number): string | undefined {
    const value = this.ring[place];
    this.ring[place] = '';
    return value;
  }

  private grow(): void {
    if (this.count < this.ring.length) return;
    const items = this.all();
    items.length = this.count * 2;
    this.ring = items;
    this.head = 0;
  }
}

/** A member with its score. */
export interface Scored {
  readonly member: string;
  readonly score: number;
  /** Its place among all members that ever came, for SCAN. */
  readonly order: number;
}

/** A sorted set: by score, then by the bytes of the member. */
export class SortedSet {
  readonly type = 'zset';
  private members = new KeptMap<Scored>();
  /** The members in their order. Those before `head` are removed. */
  private sorted: Scored[] = [];
  private head = 0;
  private came = 0;

  get size(): number {
    return this.members.size;
  }

  score(member: string): number | undefined {
    return this.members.get(member)?.score;
  }

  set(member: string, score: number): void {
    const known = this.members.get(member);
    if (known) {
      if (known.score === score) return;
      this.take(known);
    }
    const entry: Scored = { member, score, order: known?.order ?? ++this.came };
    this.members.set(member, entry);
    const at = this.place(score, member);
    if (at === this.sorted.length) this.sorted.push(entry);
    else if (at === this.head && this.head > 0) this.sorted[--this.head] = entry;
    else this.sorted.splice(at, 0, entry);
  }

  delete(member: string): boolean {
    const known = this.members.get(member);
    if (!known) return false;
    this.members.delete(member);
    this.take(known);
    return true;
  }

  /** Returns the members from one index to another, both included. */
  slice(from: number, to: number): Scored[] {
    return this.sorted.slice(this.head + from, this.head + to + 1);
  }

  all(): Scored[] {
    return this.sorted.slice(this.head);
  }

  /** Returns the index of the first member with at least this score, or above it where the score is excluded. */
  indexOfScore(score: number, isExcluded: boolean): number {
    const { sorted } = this;
    let [low, high] = [this.head, sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const own = sorted[middle]!.score;
      if (own < score || (isExcluded && own === score)) low = middle + 1;
      else high = middle;
    }
    return low - this.head;
  }

  /** Returns members that came after a place, in the order of their coming. So a scan finds each that stays throughout. */
  after(order: number, count: number): Scored[] {
    const later = this.all().filter((each) => each.order > order);
    return later.toSorted((a, b) => a.order - b.order).slice(0, count);
  }

  clone(): SortedSet {
    const copy = new SortedSet();
    copy.members = this.members.clone();
    copy.sorted = this.all();
    copy.came = this.came;
    return copy;
  }

  /** Returns the place of the first entry that is not before this score and member. */
  private place(score: number, member: string): number {
    const { sorted } = this;
    let [low, high] = [this.head, sorted.length];
    if (high > low && isBefore(sorted[high - 1]!, score, member)) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(sorted[middle]!, score, member)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private take({ member, score }: Scored): void {
    const at = this.place(score, member);
    if (at !== this.head) {
      if (at === this.sorted.length - 1) this.sorted.pop();
      else this.sorted.splice(at, 1);
      return;
    }
    this.head++;
    if (this.head > 64 && this.head * 2 > this.sorted.length) {
      this.sorted = this.sorted.slice(this.head);
      this.head = 0;
    }
  }
}

function isBefore(entry: Scored, score: number, member: string): boolean {
  return entry.score < score || (entry.score === score && entry.member < member);
}

/** A value that is one text. */
export class Text {
  readonly type = 'string';
  readonly size = 1;

  constructor(public value: string) {}

  clone(): Text {
    return new Text(this.value);
  }
}

export type StreamId = readonly [ms: number, seq: number];

export interface StreamEntry {
  readonly id: StreamId;
  readonly fields: readonly string[];
}

/** A consumer group of a stream. */
export interface Group {
  last: StreamId;
  /** The entries that a consumer has and has not acknowledged, by their ids. */
  readonly pending: Map<string, { readonly id: StreamId; readonly consumer: string; readonly deliveredAt: number }>;
}

export class Stream {
  readonly type = 'stream';
  readonly size = 1; // an empty stream stays
  entries: StreamEntry[] = [];
  last: StreamId = [0, 0];
  groups = new Map<string, Group>();

  clone(): Stream {
    const copy = new Stream();
    copy.entries = this.entries.slice();
    copy.last = this.last;
    copy.groups = new Map(
      [...this.groups].map(([name, { last, pending }]) => [name, { last, pending: new Map(pending) }]),
    );
    return copy;
  }
}
