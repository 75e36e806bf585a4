// How long single calls of scripts took the server, by its own log of slow calls, which costs nothing and misses none.
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { luaScripts } from '#queue/lua.generated.js';
import { monotonicMs, type HistoryWriter } from '../histories/history.js';

/** Often enough that no entry has left the log by then: a server keeps 128, of calls that took 10 ms. */
const LOOK_MS = 500;
/** Less than this is not told: so little is not in the log either. */
const LEAST_MS = 10;
const MOST_ENTRIES = 128;

type Logged = [id: number, atSeconds: number, micros: number, call: string[]];

export class SlowCalls {
  private readonly timer: NodeJS.Timeout;
  private readonly looks: Look[];

  /** @param urls of all servers that the scripts may run on */
  constructor(urls: readonly string[], history: HistoryWriter, scripts: Record<string, string> = luaScripts) {
    const names = namesOf(scripts);
    this.looks = urls.map((url) => new Look(url, history, names));
    this.timer = setInterval(() => this.looks.forEach((look) => void look.once()), LOOK_MS);
  }

  /** Looks once more, where a server still answers. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.looks.map((look) => look.end()));
  }
}

/** At one server. */
class Look {
  private readonly redis: Redis;
  private latest = -1;
  private cpuMs = NaN;
  private looking: Promise<void> | undefined;

  constructor(
    url: string,
    private readonly history: HistoryWriter,
    private readonly nameOf: (script: string) => string | undefined,
  ) {
    this.redis = new Redis(url, { retryStrategy: () => 100, maxRetriesPerRequest: 0, enableOfflineQueue: false });
    this.redis.on('error', () => undefined); // it may be away
    // When it is back, it counts anew.
    this.redis.on('ready', () => {
      this.latest = -1;
      this.cpuMs = NaN;
    });
  }

  once(): Promise<void> {
    this.looking ??= this.look()
      .catch(() => undefined)
      .finally(() => (this.looking = undefined));
    return this.looking;
  }

  async end(): Promise<void> {
    if (this.redis.status === 'ready') await this.once();
    this.redis.disconnect();
  }

  private async look(): Promise<void> {
    const [info, entries, [seconds]] = await this.ask();
    const nowMs = monotonicMs();
    // The log tells how long a call took. What it worked is no more than the processor gave the server since the last look.
    const cpuMs = cpuOf(info);
    const workedMs = Number.isNaN(cpuMs - this.cpuMs) ? Infinity : cpuMs - this.cpuMs;
    this.cpuMs = cpuMs;
    for (const [id, atSeconds, micros, [command, script]] of entries.toReversed()) {
      const name = /^(eval|evalsha)$/i.test(command ?? '') ? this.nameOf(script!) : undefined;
      if (id > this.latest && name !== undefined) {
        const agoMs = (Number(seconds) - atSeconds) * 1_000;
        const ms = Math.round(Math.min(micros / 1_000, workedMs));
        if (ms >= LEAST_MS) this.history.add(['slow', name, ms, nowMs - agoMs]);
      }
      this.latest = Math.max(this.latest, id);
    }
  }

  /** At one moment, so that a call that is in the log now, and was not at the last look, was made between the two. */
  private async ask(): Promise<[info: string, entries: Logged[], time: [seconds: string]]> {
    const answers = (await this.redis.multi().info('cpu').slowlog('GET', MOST_ENTRIES).time().exec()) ?? [];
    const error = answers.find(([each]) => each)?.[0];
    if (error) throw error;
    return answers.map(([, answer]) => answer) as [string, Logged[], [string]];
  }
}

/** What the processor has given to the thread that runs the scripts, in ms; NaN where the server does not say. */
function cpuOf(info: string): number {
  const seconds = (what: string) => Number(new RegExp(`used_cpu_${what}_main_thread:([\\d.]+)`).exec(info)?.[1]);
  return (seconds('user') + seconds('sys')) * 1_000;
}

/** By digest. Of a text the log shows the beginning, which many share. */
function namesOf(scripts: Record<string, string>): (script: string) => string | undefined {
  const names = new Map(
    Object.entries(scripts).map(([name, text]) => [createHash('sha1').update(text).digest('hex'), name]),
  );
  return (script) =>
    names.get(script) ?? (script.startsWith('#!lua') ? 'a script that was sent as text' : undefined);
}
