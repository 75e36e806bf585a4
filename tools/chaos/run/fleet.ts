// The processes of a run and the lines between them and Redis.
import { fork, type ChildProcess } from 'node:child_process';
import { dirname, join } from 'node:path';
import { FaultProxy } from '../../../test/support/faults/fault-proxy.js';
import { within } from '../../../test/support/faults/wait.js';
import { monotonicMs } from '../histories/clock.js';
import { throughProxies, type Line } from '../processes/line.js';
import type { Order, ProcessOptions, Report, Role } from '../processes/process-options.js';
import type { Resources } from '../watch/resources.js';

/** Timeouts against hanging, not limits of the library: an overloaded machine took 30 s to start a process. */
const START_MS = 180_000;
const STOP_MS = 180_000;

/** A place in the fleet: one process at a time, always over the same line. */
export interface Slot {
  readonly name: string;
  readonly role: Role;
  /** The proxies that its line passes, one before each server. */
  readonly proxies: readonly FaultProxy[];
  readonly line: Line;
  child: ChildProcess | undefined;
  number: number;
  clockOffMs: number;
  /** True if it runs the earlier version of the library. */
  earlier: boolean;
  /** The file that its process writes. */
  history: string;
  /** The number of blocks of its event loop that are over. */
  blocks: number;
  /** The way in which the run ends its process, once it does so. */
  ending: 'stop' | 'kill' | undefined;
  /** The time when its worker or producer last got a reply of Redis, by the monotonic clock. */
  answeredAtMs: number;
  done: boolean;
}

interface FleetOptions {
  line: Line;
  /** The URLs of all servers of this line. */
  urls: readonly string[];
  /** The folder of the histories. */
  folder: string;
  queue: string;
  seed: number;
  proxied: boolean;
  common: Pick<ProcessOptions, 'concurrency' | 'batch' | 'rate' | 'backlog' | 'jobs' | 'load'>;
}

export class Fleet {
  readonly slots: Slot[] = [];
  /** Resources that processes had open after they had closed everything. */
  readonly leaks: string[] = [];
  /** Processes that ended by themselves, including those restarted since. */
  readonly exits: string[] = [];
  /** The numbers of all producers so far. */
  readonly producerNumbers: number[] = [];
  private numbers = 0;

  constructor(
    private readonly options: FleetOptions,
    private readonly resources: Resources,
  ) {
    // A frozen process would outlive the runner.
    process.once('exit', () => this.slots.forEach(({ child }) => child?.kill('SIGKILL')));
  }

  /** Adds places in their order, and starts their processes all at the same time. */
  async add(...places: (readonly [role: Role, name: string])[]): Promise<void> {
    const added: Slot[] = [];
    for (const [role, name] of places) added.push(await this.place(role, name));
    this.slots.push(...added);
    await Promise.all(added.map((slot) => this.start(slot)));
  }

  get workers(): Slot[] {
    return this.slots.filter(({ role }) => role.endsWith('worker'));
  }

  get producers(): Slot[] {
    return this.slots.filter(({ role }) => role.endsWith('producer'));
  }

  async start(slot: Slot): Promise<void> {
    slot.number = ++this.numbers;
    if (slot.role.endsWith('producer')) this.producerNumbers.push(slot.number);
    const { folder, queue, seed, common } = this.options;
    slot.history = join(folder, `${slot.role}-${slot.number}.jsonl`);
    const options: ProcessOptions = {
      ...common,
      role: slot.role,
      number: slot.number,
      slot: slot.name,
      line: slot.line,
      queue,
      history: slot.history,
      log: join(folder, `${slot.role}-${slot.number}.log`),
      seed: seed * 1_000 + slot.number,
      clockOffMs: slot.clockOffMs,
    };
    const chaos = dirname(import.meta.dirname);
    const root = join(chaos, '../..');
    const register = join(chaos, slot.earlier ? 'register-earlier.mjs' : 'register.mjs');
    const child = fork(join(chaos, 'processes/process.ts'), [JSON.stringify(options)], {
      cwd: root,
      execArgv: ['--expose-gc', '--enable-source-maps', '--import', register],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    slot.child = child;
    slot.ending = undefined;
    child.once('exit', (code, signal) => {
      if (!isAsked(slot.ending, code, signal)) this.exits.push(`${slot.name} ended by itself: ${code ?? signal}`);
    });
    const ready = new Promise<void>((resolve, reject) => {
      child.on('message', (report: Report) => (report.type === 'ready' ? resolve() : this.onReport(slot, report)));
      child.once('exit', (code, signal) => reject(new Error(`${slot.name} ended: ${code ?? signal}`)));
    });
    await within(START_MS, `the start of ${slot.name}`, ready);
  }

  order(slot: Slot, order: Order): void {
    slot.child?.send(order);
  }

  /** Asks a process to end, and waits for it. */
  async stop(slot: Slot): Promise<void> {
    const { child } = slot;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = exitOf(child);
    slot.ending = 'stop';
    this.order(slot, { type: 'stop' });
    await within(STOP_MS, `the end of ${slot.name}`, exited);
  }

  async kill(slot: Slot): Promise<void> {
    const exited = exitOf(slot.child!);
    slot.ending = 'kill';
    slot.child!.kill('SIGKILL');
    await exited;
  }

  async close(): Promise<void> {
    for (const slot of this.slots) {
      slot.ending = 'kill';
      slot.child?.kill('SIGKILL');
      await Promise.all(slot.proxies.map((proxy) => proxy.close()));
    }
  }

  private async place(role: Role, name: string): Promise<Slot> {
    const { line, urls, proxied } = this.options;
    const proxies = proxied ? await Promise.all(urls.map((url) => FaultProxy.start(url))) : [];
    const proxyUrls = proxies.map(({ url }) => url);
    return {
      name,
      role,
      proxies,
      line: proxied ? throughProxies(line, urls, proxyUrls) : line,
      child: undefined,
      number: 0,
      clockOffMs: 0,
      earlier: false,
      history: '',
      blocks: 0,
      ending: undefined,
      answeredAtMs: 0,
      done: false,
    };
  }

  private onReport(slot: Slot, report: Report): void {
    if (report.type === 'pulse') slot.answeredAtMs = monotonicMs() - report.answerAgoMs;
    else if (report.type === 'sample') this.resources.add(slot.name, report);
    else if (report.type === 'done') slot.done = true;
    else if (report.type === 'blocked') slot.blocks++;
    else if (report.type === 'stopped' && report.open.length > 0) {
      this.leaks.push(`${slot.name}: ${report.open.join(', ')}`);
    }
  }
}

/** Returns whether a process ended as ordered. A process may end by itself just before the order. */
export function isAsked(ending: Slot['ending'], code: number | null, signal: NodeJS.Signals | null): boolean {
  return ending === 'kill' ? signal === 'SIGKILL' : ending === 'stop' && code === 0;
}

function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}
