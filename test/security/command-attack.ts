// A seeded attack on every command of the command line, with the oracles that judge each run.
import type { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue/core';
import { EXIT } from '#cli/exit-codes.js';
import { cli } from '../cli/run-cli.js';
import fc from '../support/queue/properties.js';
import { startWorker } from '../support/worker/workers.js';
import { within } from '../support/faults/wait.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { hostileWord } from './hostile.js';
import { changedKeys, keyDigests } from './key-digests.js';
import { BATCH, GROUP, IDS, markQueue, REDACT, SCHEDULE, SECRET } from './marked-queue.js';

const END_MS = 20_000;
/** Whatever a terminal obeys; the line breaks are those of the command line. */
const STEERS = /[^\P{Cc}\n]|[\u202A-\u202E\u2028\u2029\u2066-\u2069]/u;
const CRASH = /--verbose shows where it happened|^(?:Type|Range|Reference|Syntax)Error|ERR |WRONGTYPE/m;

/** The keys whose change is the transition of a job. */
const PLACE = /:(?:pending|prioritized|scheduled|claims|dead|failed|completed|cancelled)$/;

/** Keys that workers write, and the log of commands, which has those without an effect too. */
const WRITTEN_BESIDE = /:(?:actions|workers|worker_.*|names|audit|history.*|maintained.*|wake)$/;

/** How a command changes a queue: never, at once, or only after a question or `--yes`. */
type Deed = 'reads' | 'changes' | 'asks';

/** Returns one of the words, or a hostile one. */
function word(...words: string[]): fc.Arbitrary<string> {
  return fc.oneof({ arbitrary: fc.constantFrom(...words), weight: 3 }, hostileWord);
}

/** Each command: what it may do, and the arguments after the queue. */
const COMMANDS: Readonly<Record<string, readonly [deed: Deed, ...args: fc.Arbitrary<string>[]]>> = (() => {
  const id = fc.oneof(fc.constantFrom(...Object.values(IDS), BATCH, SCHEDULE), hostileWord);
  return {
    queues: ['reads'],
    list: ['reads', word('pending', 'scheduled', 'processing', 'completed', 'failed', 'cancelled')],
    show: ['reads', id],
    stream: ['reads', id],
    schedules: ['asks', word('pause', 'resume', 'run', 'remove'), word(SCHEDULE)],
    topics: ['asks', word('remove'), word('receipts')],
    workers: ['reads'],
    health: ['reads'],
    enqueue: ['changes', word('{}', '{"iban":1}', '[')],
    cancel: ['changes', id],
    promote: ['changes', id],
    signal: ['changes', id, word('approved', 'a', '\n')],
    'run-again': ['changes', id],
    errors: ['reads'],
    'mark-error': ['changes', word('4ddfd7b1f5', '@crash')],
    redrive: ['changes', id],
    discard: ['asks', id],
    pause: ['changes'],
    resume: ['changes'],
    doctor: ['asks'],
    limits: ['changes'],
    profile: ['changes'],
    'shared-limit': ['changes'],
    groups: ['reads'],
    batches: ['reads'],
    batch: ['asks', word(BATCH)],
    tail: ['reads'],
    stats: ['reads'],
    top: ['reads'],
    actions: ['reads'],
    audit: ['reads'],
    bench: ['reads'],
    dashboard: ['reads'],
    completion: ['reads'],
    outbox: ['reads'],
    migrate: ['reads'],
    // It takes no queue, so each attack ends at once; test/cli/mcp attacks its tools.
    mcp: ['reads'],
  };
})();
/** Commands with a part that changes at once, although another part asks. */
const SOME_CHANGE = new Set(['schedules']);
/** Options that run without an end, or reach another server. */
const LEFT_OUT = new Set([
  'follow',
  'out',
  'watch',
  'redis',
  'prefix',
  'cluster',
  'sentinel',
  'yes',
  'count',
  'help',
  'version',
]);
/** Values that some option takes, so that a part of the runs goes further than the checks. */
const FITTING = ['1', '20', 'none', '60000', GROUP, 'depth', 'age', 'a=b', 'by ada'];

export interface CommandAttack {
  command: string;
  args: string[];
  yes: boolean;
}

/** A run of the command line: its exit code and all that it wrote. */
interface Run {
  code: number;
  out: string;
  err: string;
}

/** A marked queue under attack, and one that no command names. */
export class AttackedQueue {
  readonly redis: Redis = connect();
  readonly shown = uniqueQueueName('shown');
  readonly other = uniqueQueueName('other');
  private readonly healthy = new JobQueue(this.redis, uniqueQueueName('healthy'));
  private options = new Map<string, readonly [name: string, hasValue: boolean][]>();
  private before = new Map<string, string>();
  private publishing?: NodeJS.Timeout;

  async start(): Promise<this> {
    for (const name of [this.shown, this.other]) {
      await markQueue(new JobQueue(this.redis, name, { redact: REDACT, auditTrail: { maxEntries: 1_000 } }));
      // Commands know the names to hide from live workers alone.
      const { worker } = await startWorker(new JobQueue(this.redis, name, { redact: REDACT }), () => 1, {
        concurrency: 1,
      });
      worker.pause();
    }
    await startWorker(this.healthy, () => 'done');
    const commands = await this.run(['--help']);
    const known = [...commands.out.split('\nCommands:\n')[1]!.matchAll(/^ {2}([a-z-]+)/gm)].map(
      ([, name]) => name!,
    );
    const unknown = known.filter((name) => name !== 'help' && !Object.hasOwn(COMMANDS, name));
    if (unknown.length > 0) throw new Error(`commands that nothing attacks: ${unknown.join(' ')}`);
    for (const command of Object.keys(COMMANDS)) {
      const { out } = await this.run([command, '--help']);
      const found = [...out.matchAll(/^ {2}(?:-., )?--([a-z-]+)( [<[])?/gm)];
      const named = found.map(([, name, value]): [string, boolean] => [name!, value !== undefined]);
      this.options.set(
        command,
        named.filter(([name]) => !LEFT_OUT.has(name)),
      );
    }
    const event = JSON.stringify({ id: 'x', status: 'completed', error: SECRET, progress: { iban: SECRET } });
    this.publishing = setInterval(() => void this.redis.publish(`queue:${this.shown}:events`, event), 50);
    this.publishing.unref();
    this.before = await this.keys();
    return this;
  }

  stop(): void {
    clearInterval(this.publishing);
  }

  /** Returns attacks on every command. */
  attacks(): fc.Arbitrary<CommandAttack> {
    const queue = fc.oneof({ arbitrary: fc.constant(this.shown), weight: 4 }, hostileWord);
    return fc.constantFrom(...Object.keys(COMMANDS)).chain((command) => {
      const [, ...after] = COMMANDS[command]!;
      const positional = command === 'queues' ? [] : [queue, ...after];
      const value = fc.oneof(fc.constantFrom(...FITTING), hostileWord);
      const option = fc
        .tuple(fc.constantFrom(...this.options.get(command)!), value)
        .map(([[name, hasValue], given]) => (hasValue ? [`--${name}`, given] : [`--${name}`]));
      const odd = fc.oneof(
        { arbitrary: fc.constant<string[]>([]), weight: 9 },
        hostileWord.map((each) => [each]),
      );
      return fc.record({
        command: fc.constant(command),
        args: fc
          .tuple(fc.tuple(...positional), fc.array(option, { maxLength: 3 }), odd)
          .map(([given, options, more]) => [...given, ...options.flat(), ...more]),
        yes: command === 'bench' ? fc.constant(false) : fc.boolean(),
      });
    });
  }

  /** Runs one command, and judges it by all oracles. */
  async suffer({ command, args, yes }: CommandAttack): Promise<void> {
    const ends = ['tail', 'top'].includes(command) ? ['--count', '1'] : [];
    const isRefused = command === 'dashboard' ? ['--port', '99999'] : []; // it would serve until a signal
    const last = await this.lastEntry();
    const { code, out, err } = await within(
      END_MS,
      `the end of ${command}`,
      this.run([command, ...ends, ...(yes ? ['--yes'] : []), ...args, ...isRefused]),
    );
    const said = out + err;
    if (said.includes(SECRET.slice(5))) throw new Error(`secret out: ${said.slice(0, 2_000)}`);
    if (STEERS.test(said)) throw new Error(`steers the terminal: ${JSON.stringify(said.slice(0, 2_000))}`);
    if (CRASH.test(said) || !Object.values<number>(EXIT).includes(code)) throw new Error(`crash: ${code} ${said}`);
    if (args.includes('--json') && code === EXIT.ok && command !== 'completion') {
      out
        .split('\n')
        .filter((line) => line !== '')
        .forEach((line) => JSON.parse(line));
    }
    await this.judgeChange({ command, args, yes }, { code, out, err }, last);
  }

  /** Throws if something changed that the command may not change, or without its entry in the audit trail. */
  private async judgeChange({ command, args, yes }: CommandAttack, { code }: Run, last: string): Promise<void> {
    const after = await this.keys();
    const changed = changedKeys(this.before, after);
    this.before = after;
    if (changed.length === 0) return;
    const [deed] = COMMANDS[command]!;
    const isUnasked = deed === 'asks' && !yes && !SOME_CHANGE.has(command);
    const isStray = changed.some((key) => !key.startsWith(`queue:${this.shown}:`)) || args[0] !== this.shown;
    if (deed === 'reads' || isUnasked || isStray || code === EXIT.usage || code === EXIT.notFound) {
      throw new Error(`changed unasked: ${command} ${code} ${changed.join(' ')}`);
    }
    const moved = changed.filter((key) => PLACE.test(key));
    if (moved.length > 0 && (await this.lastEntry()) === last) {
      throw new Error(`changed without an entry: ${command} ${moved.join(' ')}`);
    }
  }

  /** Throws unless a job of another queue runs. */
  async judgeOtherJobs(): Promise<void> {
    await (await this.healthy.enqueue(null)).result({ timeoutMs: END_MS });
  }

  private async lastEntry(): Promise<string> {
    const [last] = await this.redis.xrevrange(`queue:${this.shown}:audit`, '+', '-', 'COUNT', 1);
    return last?.[0] ?? '';
  }

  /** Returns a digest of each key of both queues that a live worker does not write. */
  private keys(): Promise<Map<string, string>> {
    return keyDigests(this.redis, [this.shown, this.other], WRITTEN_BESIDE);
  }

  /** Runs the command line in this process, where nobody types. */
  private async run(args: readonly string[]): Promise<Run> {
    const { code, stdout, stderr } = await cli(args);
    return { code: Number(code), out: stdout, err: stderr };
  }
}

/** Attacks every command, and asks for another job now and then. */
export async function attackCommands(target: AttackedQueue, numRuns: number): Promise<void> {
  let count = 0;
  const seen = await fc.check(
    fc.asyncProperty(target.attacks(), async (attack) => {
      await target.suffer(attack);
      if (count++ % 40 === 0) await target.judgeOtherJobs();
    }),
    { numRuns, endOnFailure: true },
  );
  target.stop();
  if (seen.failed) {
    throw new Error(`${String((seen.errorInstance as Error).message)}\n${fc.defaultReportMessage(seen)}`);
  }
}
