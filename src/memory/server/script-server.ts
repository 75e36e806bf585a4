// A server in the process: keys in memory, the scripts of lua compiled to JavaScript, waits for markers, and channels. Texts
// are bytes, one character each.
import { createHash } from 'node:crypto';
import vm from 'node:vm';
import { keptIn } from '../../queue/runtime/collections.js';
import { type RunScript, codeOfCompiler, compileLua, type ScriptFactory } from '../lua/compile.js';
import { type Dialect, REDIS_7_0 } from '../lua/numbers.js';
import { replyError, runtimeOf, type CommandTable, type Runtime, type CheckCommand } from '../lua/runtime.js';
import { LuaError, LuaTable, shown, type LuaValue } from '../lua/values.js';
import { refuse } from './arguments.js';
import { checkCommand, commandsOf } from './commands.js';
import { Keyspace } from './keyspace.js';

/** A wait for a marker in one of some sorted sets, the first with precedence. */
interface Waiter {
  readonly keys: readonly string[];
  /** The process that waits, if the wait ends with it. */
  readonly worker?: string | undefined;
  /** Gets the marker, which the server has removed. */
  end(key: string, member: string, score: string): void;
}

type Listener = (message: string) => void;

interface ScriptServerOptions {
  /** Draws numbers from 0 to 1. @default Math.random */
  random?: () => number;
  /** What differs between versions of Redis. @default Redis 7.0 */
  dialect?: Dialect;
  /** Called when fields of a hash are written. */
  hashWritten?: (key: string, fields: readonly string[]) => void;
}

export class ScriptServer {
  readonly keys: Keyspace;
  protected readonly commands: CommandTable;
  private readonly runtime: Runtime;
  /** The scripts that this server has run, by their texts. */
  private readonly scripts = new Map<string, RunScript>();
  private readonly channels = new Map<string, Set<Listener>>();
  private readonly waiters = new Map<string, Set<Waiter>>();
  /** The keys that have got an item for which somebody may wait. */
  private readonly filled = new Set<string>();
  /** The messages of the step that runs. */
  private published: (() => void)[] = [];
  /** The time of the step that runs, in microseconds; undefined between steps. */
  private stepUs: number | undefined;

  /** @param clock the time in ms, which alone decides what is due or expired */
  constructor(
    private readonly clock: () => number,
    { random = Math.random, dialect = REDIS_7_0, hashWritten }: ScriptServerOptions = {},
  ) {
    this.keys = new Keyspace({
      dialect,
      random,
      hashWritten,
      nowUs: () => this.stepUs ?? Math.floor(this.clock() * 1_000),
      publish: (channel, message) => this.publish(channel, message),
      subscribersOf: (channel) => this.channels.get(channel)?.size ?? 0,
      filled: (key) => void (this.waiters.has(key) && this.filled.add(key)),
    });
    this.commands = commandsOf(this.keys);
    this.runtime = runtimeOf(this.commands, checkCommand, dialect);
  }

  /** Returns the time in ms. It stands while a step runs. */
  now(): number {
    return this.stepUs === undefined ? this.clock() : this.stepUs / 1_000;
  }

  /**
   * Runs a step, which sees one time. Then its messages are delivered, and waits are served. A step within another is a
   * part of it.
   */
  step<Reply>(run: () => Reply): Reply {
    if (this.stepUs !== undefined) return run();
    this.stepUs = Math.floor(this.clock() * 1_000);
    try {
      this.keys.sweep();
      return run();
    } finally {
      this.stepUs = undefined;
      this.deliver();
    }
  }

  /** Runs a step as if it were none. All that it has changed is taken back. It delivers no message and serves no wait. */
  protected trial<Reply>(run: () => Reply): Reply {
    this.stepUs = Math.floor(this.clock() * 1_000);
    try {
      return this.keys.trial(run);
    } finally {
      this.stepUs = undefined;
      this.published = [];
      this.filled.clear();
    }
  }

  /**
   * Runs the text of a script.
   *
   * @param name of the script, for stacks
   * @throws LuaError with the reply of a script that broke off; LuaSubsetError for a script that it cannot run
   */
  run(text: string, keys: string[], args: string[], name = 'script'): LuaValue {
    let script = this.scripts.get(text);
    if (!script) {
      script = scriptFactory(text, name, checkCommand)(this.runtime, this.commands);
      this.scripts.set(text, script);
    }
    const [KEYS, ARGV] = [new LuaTable(keys), new LuaTable(args)];
    const ready = script;
    try {
      const reply = this.step(() => ready(KEYS, ARGV));
      return Array.isArray(reply) ? reply[0] : reply;
    } catch (error) {
      throw error instanceof LuaError ? inScript(error, text) : error;
    }
  }

  /** Runs one command. @throws LuaError for one that Redis would refuse */
  send(command: string, args: readonly string[]): LuaValue {
    const name = command.toUpperCase();
    const problem = checkCommand(name, args.length);
    if (problem !== undefined) refuse(problem);
    return this.step(() => this.commands[name]!(...args));
  }

  /** Waits for a marker, and takes it. The returned function ends the wait. */
  wait(waiter: Waiter): () => void {
    this.step(() => {
      if (waiter.keys.some((key) => this.serve(key, waiter))) return;
      for (const key of waiter.keys) {
        const waiters = this.waiters.get(key) ?? new Set();
        this.waiters.set(key, waiters.add(waiter));
      }
    });
    return () => this.forget(waiter);
  }

  /** Forgets the waits of a process that is gone. */
  disconnect(worker: string): void {
    const gone = [...this.waiters.values()].flatMap((waiters) =>
      [...waiters].filter((each) => each.worker === worker),
    );
    gone.forEach((waiter) => this.forget(waiter));
  }

  /** Listens to a channel. The returned function ends it. */
  subscribe(channel: string, listener: Listener): () => void {
    const listeners = this.channels.get(channel) ?? new Set();
    this.channels.set(channel, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.channels.delete(channel);
    };
  }

  private publish(channel: string, message: string): number {
    const listeners = this.channels.get(channel);
    if (!listeners) return 0;
    this.published.push(() => listeners.forEach((listener) => listener(message)));
    return listeners.size;
  }

  /** Delivers the messages of a step, and serves the waits for what it has set. */
  protected deliver(): void {
    if (this.published.length > 0) {
      const messages = this.published;
      this.published = [];
      messages.forEach((deliver) => deliver());
    }
    if (this.filled.size === 0) return;
    const keys = [...this.filled];
    this.filled.clear();
    for (const key of keys) {
      for (const waiter of this.waiters.get(key) ?? []) {
        if (!this.serve(key, waiter)) break;
      }
    }
  }

  /** Gives a marker of a key to a waiter. Returns false if there is none. */
  private serve(key: string, waiter: Waiter): boolean {
    const [member, score] = (this.commands.ZPOPMIN!(key) as LuaTable).items as [string?, string?];
    if (member === undefined) return false;
    this.forget(waiter);
    waiter.end(key, member, score!);
    return true;
  }

  private forget(waiter: Waiter): void {
    for (const key of waiter.keys) {
      const waiters = this.waiters.get(key);
      if (waiters?.delete(waiter) && waiters.size === 0) this.waiters.delete(key);
    }
  }
}

/** Returns the reply of a script that broke off. It names the script as Redis does, whose lines it does not know. */
function inScript({ value }: LuaError, text: string): LuaError {
  const err = value instanceof LuaTable ? value.get('err') : undefined;
  const message = err === undefined ? `ERR user_script: ${shown(value)}` : shown(err);
  const digest = createHash('sha1').update(text, 'latin1').digest('hex');
  return replyError(`${message} script: ${digest}, on @user_script.`);
}

/** The place of the compiled scripts of the process. */
const COMPILED = Symbol.for('nest-job-queue:compiled-scripts');

/** The most compiled scripts. There are fewer texts than this, but a test may make its own. */
const MOST_COMPILED = 1_000;

/**
 * Returns the factory of a script, compiled when its text is first wanted in the process. Jest loads this module anew for
 * each test file. So the compiled scripts are kept on a module of Node. Their code is in no realm of a test file.
 *
 * @param name shown in stacks and by the coverage of V8
 * @throws LuaSubsetError for a script outside of the subset
 */
export function scriptFactory(text: string, name: string, check: CheckCommand): ScriptFactory {
  const keeper = vm as { [COMPILED]?: Map<string, Map<string, ScriptFactory>> };
  keeper[COMPILED] ??= new Map();
  // Another version of this library in the process may compile otherwise.
  const kept = keptIn(keeper[COMPILED], codeOfCompiler(), () => new Map<string, ScriptFactory>());
  const compile = () =>
    vm.runInThisContext(compileLua(text, check, false), { filename: `lua:${name}` }) as ScriptFactory;
  return keptIn(kept, text, compile, MOST_COMPILED);
}
