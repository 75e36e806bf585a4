// The rows of the table of verbs. From a row follow the call with its types, its KEYS and ARGV, and the decoder of its reply.
// The row also tells what a repeat does, and which texts are stored in the clear.
import type { PlainNames, Sealed } from '../codec/sealed.js';
import type { LuaScriptName } from '../lua.generated.js';
import type { RedisClient } from '../redis/redis-client.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import type { CallContext } from '../scripts/script-call.js';
import type { CommandCall, ScriptArgument, ScriptCall } from '../transport/script-runner.js';

/** A row of the table, with the method that makes its call. */
export interface Verb<Call> {
  /** The script, or the name of a call that is commands of Redis. */
  readonly script: string;
  /** Set if the same call once more, after a lost reply, changes nothing. The simulator checks that. */
  readonly repeat?: 'same' | undefined;
  readonly bind: (context: CallContext) => Call;
}

type Encoded = ScriptArgument | readonly ScriptArgument[];

/** The kind of an argument. It has the type that the caller passes, and encodes the value for the script. */
export interface Argument<Value> {
  readonly encode: (value: Value, context: CallContext) => Encoded;
}

/** A text that is stored as it is, also in an encrypted queue: an id, a name or a key. Never content of a job. */
export const text: Argument<string> = { encode: (value) => value };

/** Content of a job, as its queue stores it. */
export const sealed: Argument<Sealed> = { encode: (value) => value };

export const number: Argument<number> = { encode: (value) => value };

export const flag: Argument<boolean> = { encode: (value) => (value ? '1' : '0') };

/** Returns the kind of a text that is one of these words, such as a status. */
export function word<Word extends string>(): Argument<string extends Word ? never : Word> {
  return { encode: (value) => value };
}

/** Returns the kind of an argument that may be absent. */
export function optional<Value>(kind: Argument<Value>, absent: Encoded = ''): Argument<Value | undefined> {
  return { encode: (value, context) => (value === undefined ? absent : kind.encode(value, context)) };
}

/** Returns the kind of a list, whose items follow each other. */
export function each<Value>(kind: Argument<Value>): Argument<readonly Value[]> {
  return { encode: (values, context) => values.flatMap((value) => kind.encode(value, context)) };
}

/** Returns the kind of an object, whose fields follow each other. */
export function fields<Args extends Named>(args: Args): Argument<Given<Args>> {
  return { encode: (given, context) => encodeAll(args, given, context) };
}

/** A text that names a key of the script, and is no argument of it. */
export const inKey: Argument<string> = { encode: () => [] };

/** Returns the kind of a value that only `keys` reads. */
export function inKeys<Value>(): Argument<Value> {
  return { encode: () => [] };
}

/** Returns the kind of an argument that the queue adds by itself, such as one of its options. */
export function own(encode: (context: CallContext) => Encoded): Argument<unknown> {
  return { encode: (_, context) => encode(context) };
}

/**
 * Returns the kind of a value with an encoder of its own.
 *
 * @param _readable names each plain text in the value, all of which are stored in the clear
 */
export function by<Value>(
  encode: (value: Value, context: CallContext) => Encoded,
  ..._readable: Readable<Value>
): Argument<Value> {
  return { encode };
}

/** Names the plain texts of a value. A value without any takes no such parameter. */
type Readable<Value> = [PlainNames<Value>] extends [never] ? [] : [Readonly<Record<PlainNames<Value>, true>>];

/** The arguments by their names, or a value that has all of them. */
type Arguments = Named | Argument<never>;
type Named = Readonly<Record<string, Argument<never>>>;
type ValueOf<Kind> = Kind extends Argument<infer Value> ? Value : never;

/** The names of the arguments that the caller passes. */
type Names<Args> = { [Name in keyof Args]: unknown extends ValueOf<Args[Name]> ? never : Name }[keyof Args];
type Absent<Args> = { [Name in Names<Args>]: undefined extends ValueOf<Args[Name]> ? Name : never }[Names<Args>];

/** The arguments that the caller passes, by their names. */
type Given<Args> =
  Args extends Argument<infer Value>
    ? Value
    : { [Name in Exclude<Names<Args>, Absent<Args>>]: ValueOf<Args[Name]> } & {
          [Name in Absent<Args>]?: ValueOf<Args[Name]>;
        } extends infer Both
      ? { [Name in keyof Both]: Both[Name] } // an editor shows one object
      : never;

/** A call takes its arguments as one object. It takes none if the script has none, and may take none if all may be absent. */
type Method<Args, Call> =
  Args extends Argument<infer Value>
    ? (given: Value) => Call
    : [Names<Args>] extends [never]
      ? () => Call
      : [Exclude<Names<Args>, Absent<Args>>] extends [never]
        ? (given?: Given<Args>) => Call
        : (given: Given<Args>) => Call;

/** The arguments of a script that takes none. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- the empty type is meant: its calls take nothing
type NoArguments = Readonly<Record<never, never>>;

interface Row<Args, Reply> {
  /** The arguments of the script, in their order. */
  args?: Args;
  repeat?: 'same';
  reply: (reply: unknown, given: Given<Args>, context: CallContext) => Reply;
}

/** Returns the row of a script. */
export function verb<Reply, Args extends Arguments = NoArguments>(
  script: LuaScriptName,
  row: Row<Args, Reply> & {
    /** Its KEYS. @default the standard keys */
    keys?: (keys: QueueKeys, given: Given<Args>) => readonly string[];
  },
): Verb<Method<Args, ScriptCall<Reply>>> {
  const { args, keys, repeat, reply } = row;
  return rowOf(script, repeat, (context, given: Given<Args>): ScriptCall<Reply> => ({
    script,
    keys: keys ? keys(context.keys, given) : context.keys.standard,
    args: args ? encodeAll(args, given, context) : [],
    decode: (raw) => reply(raw, given, context),
  }));
}

/** Returns the row of a call that is commands of Redis without a script. No worker needs a permission for it. */
export function command<Reply, Args extends Arguments = NoArguments>(
  script: string,
  row: Row<Args, Reply> & {
    keys: (keys: QueueKeys, given: Given<Args>) => readonly string[];
    send: (client: RedisClient, given: Given<Args>, keys: QueueKeys) => Promise<unknown>;
  },
): Verb<Method<Args, CommandCall<Reply>>> {
  const { keys, send, repeat, reply } = row;
  return rowOf(script, repeat, (context, given: Given<Args>): CommandCall<Reply> => ({
    script,
    keys: keys(context.keys, given),
    args: [],
    send: (client) => send(client, given, context.keys),
    decode: (raw) => reply(raw, given, context),
  }));
}

/** Returns the row of a call that is packed for speed, and so written by hand. */
export function byHand<Call extends (...params: never[]) => ScriptCall<unknown>>(
  script: LuaScriptName,
  bind: (context: CallContext) => Call,
  _readable: Readonly<Record<PlainNames<Parameters<Call>>, true>>,
  repeat?: 'same',
): Verb<Call> {
  return { script, repeat, bind };
}

function rowOf<Args, Call>(
  script: string,
  repeat: 'same' | undefined,
  call: (context: CallContext, given: Given<Args>) => Call,
): Verb<Method<Args, Call>> {
  const bind = (context: CallContext) => (given: Given<Args>) => call(context, given);
  return { script, repeat, bind: bind as (context: CallContext) => Method<Args, Call> };
}

function encodeAll(args: Arguments, given: unknown, context: CallContext): ScriptArgument[] {
  if (isArgument(args)) {
    const encoded = args.encode(given as never, context);
    return Array.isArray(encoded) ? (encoded as ScriptArgument[]) : [encoded as ScriptArgument];
  }
  const values = (given ?? {}) as Readonly<Record<string, never>>;
  return Object.entries(args).flatMap(([name, kind]) => kind.encode(values[name]!, context));
}

function isArgument(args: Arguments): args is Argument<never> {
  return typeof args.encode === 'function';
}

/** The calls of rows, and of rooms of rows, by the same names. The docstring of a row is that of its call. */
export type CallsOf<Rows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Verb<infer Call> ? Call : CallsOf<Rows[Name]>;
};

/** Returns the calls of one queue. */
export function callsOf<Rows extends object>(rows: Rows, context: CallContext): CallsOf<Rows> {
  const calls = Object.entries(rows).map(([name, row]: [string, Verb<unknown> | object]) => [
    name,
    isVerb(row) ? row.bind(context) : callsOf(row, context),
  ]);
  return Object.fromEntries(calls) as CallsOf<Rows>;
}

/** Returns all rows, also those of rooms. */
export function rowsIn(rows: object): Verb<unknown>[] {
  return Object.values(rows).flatMap((row: Verb<unknown> | object) => (isVerb(row) ? [row] : rowsIn(row)));
}

function isVerb(row: Verb<unknown> | object): row is Verb<unknown> {
  return 'bind' in row;
}

/** The texts of a job that an encrypted queue stores in the clear. They name the job and its ties. */
export const PLAIN_OPTIONS = {
  id: true,
  name: true,
  key: true,
  group: true,
  metadata: true,
  after: true,
  batch: true,
  addedBy: true,
  queue: true,
  request: true,
  payloadId: true,
  afterRefusal: true,
} as const;
