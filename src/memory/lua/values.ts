// The values of Lua in JavaScript. Nil is undefined; numbers, booleans and functions are themselves. A text has one
// character for each byte, so that `#` and `string.sub` count bytes as Lua does.

export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction | LuaNull;

/** A function returns one value, or an array of them where it may return several or none. */
export type Returned = LuaValue | LuaValue[];

export type LuaFunction = (...args: LuaValue[]) => Returned;

/** The null of cjson, which is a userdata and true. */
export class LuaNull {
  readonly isNull = true;
}

export const NULL = new LuaNull();

/** An error that Lua code can catch. Its value is a text, or a table with `err` for a reply of Redis. */
export class LuaError extends Error {
  constructor(readonly value: LuaValue) {
    super(shown(value instanceof LuaTable ? value.get('err') : value));
  }
}

/** A construct that scripts must not use, because the runner does not know it. Lua code cannot catch it. */
export class LuaSubsetError extends Error {
  constructor(
    readonly what: string,
    /** The line of the text; undefined where only the run has found it. */
    readonly line?: number,
  ) {
    super(`${line === undefined ? '' : `line ${line}: `}${what} is not in the subset of Lua that scripts may use`);
  }
}

/** A table. The values at 1, 2, … are in an array, whose last item is never nil. The others are in a map. */
export class LuaTable {
  items: LuaValue[];
  fields: Map<LuaValue, LuaValue> | undefined = undefined;
  meta: LuaTable | undefined = undefined;
  /** The number of keys of the map that are numbers, which may have to move into the array. */
  private numbers = 0;

  /** Takes the array over. */
  constructor(items: LuaValue[] = []) {
    this.items = items;
    if (items.length > 0 && items[items.length - 1] === undefined) this.trim();
  }

  static of(fields: Readonly<Record<string, LuaValue>>): LuaTable {
    const table = new LuaTable();
    table.fields = new Map(Object.entries(fields));
    return table;
  }

  get isEmpty(): boolean {
    return this.items.length === 0 && (this.fields === undefined || this.fields.size === 0);
  }

  get(key: LuaValue): LuaValue {
    const value = this.raw(key);
    return value === undefined && this.meta !== undefined ? this.inherited(key) : value;
  }

  /** Returns a value of the table itself. */
  raw(key: LuaValue): LuaValue {
    if (typeof key === 'number' && key > 0 && key <= this.items.length) {
      const value = this.items[key - 1];
      if (value !== undefined) return value;
    }
    return this.fields === undefined ? undefined : this.fields.get(key);
  }

  set(key: LuaValue, value: LuaValue): void {
    if (typeof key === 'number') {
      const { items } = this;
      if (key > 0 && key <= items.length && Number.isInteger(key)) {
        if (value !== undefined || key < items.length) items[key - 1] = value;
        else this.cut(items.length - 1);
        return;
      }
      if (key === items.length + 1 && value !== undefined) {
        items.push(value);
        if (this.numbers > 0) this.take();
        return;
      }
      if (Number.isNaN(key)) throw new LuaError('table index is NaN');
    } else if (key === undefined) {
      throw new LuaError('table index is nil');
    }
    this.setField(key, value);
  }

  /** Returns the keys, those of the array first. Those of the map are in the order of their insertion. */
  keys(): LuaValue[] {
    const keys: LuaValue[] = [];
    for (let i = 0; i < this.items.length; i++) {
      if (this.items[i] !== undefined) keys.push(i + 1);
    }
    return this.fields === undefined ? keys : keys.concat([...this.fields.keys()]);
  }

  /** Removes the value at a place of the array, and moves those behind it. */
  remove(place: number): LuaValue {
    const [removed] = this.items.splice(place - 1, 1);
    this.trim();
    return removed;
  }

  private setField(key: LuaValue, value: LuaValue): void {
    if (value === undefined) {
      if (this.fields?.delete(key) && typeof key === 'number') this.numbers--;
      return;
    }
    this.fields ??= new Map();
    if (typeof key === 'number' && !this.fields.has(key)) this.numbers++;
    this.fields.set(key, value);
  }

  /** Moves the values that follow the array into it. The value of the new last place may be in the map still. */
  private take(): void {
    const { items, fields } = this;
    if (fields!.delete(items.length)) this.numbers--;
    for (;;) {
      const next = items.length + 1;
      const value = fields!.get(next);
      if (value === undefined) return;
      fields!.delete(next);
      this.numbers--;
      items.push(value);
    }
  }

  private cut(length: number): void {
    this.items.length = length;
    this.trim();
  }

  private trim(): void {
    const { items } = this;
    let { length } = items;
    while (length > 0 && items[length - 1] === undefined) length--;
    items.length = length;
  }

  private inherited(key: LuaValue): LuaValue {
    const index = this.meta!.get('__index');
    return index instanceof LuaTable ? index.get(key) : undefined;
  }
}

const NOT_ASCII = /\P{ASCII}/u;

/** Returns a text as its bytes in UTF-8. */
export function toBytes(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** Returns the text of bytes in UTF-8. */
export function toText(bytes: string): string {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}

/** Returns a value for the text of an error. */
export function shown(value: LuaValue): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : typeOf(value);
}

export function typeOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  if (value instanceof LuaTable) return 'table';
  if (value instanceof LuaNull) return 'userdata';
  return typeof value;
}
