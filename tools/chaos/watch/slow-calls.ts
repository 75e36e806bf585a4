// Times single calls of scripts by the server's slow log, which costs nothing and misses none.
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { luaScripts } from '#queue/lua.generated.js';
import { monotonicMs } from '../histories/clock.js';
import type { HistoryWriter } from '../histories/history.js';

/** Short enough that no entry leaves the log unread. A server keeps 128 entries of calls over 10 ms. */
const LOOK_MS = 500;
/** Less than this is not told: so little is not in the log either. */
const LEAST_MS = 10;
const MOST_ENTRIES = 128;

type Logged = [id: number, atSeconds: number, micros: number, call: string[]];

export class SlowCalls {
  private readonly timer: NodeJS.Timeout;
  private readonly looks: Look[];

  /** @param urls all servers that the scripts may run on */
  constructor(urls: readonly string[], history: HistoryWriter, scripts: Record<string, string> = luaScripts) {
    const names = namesOf(scripts);
    this.looks = urls.map((url) => new Look(url, history, names));
    this.timer = setInterval(() => this.looks.forEach((look) => void look.once()), LOOK_MS);
  }

  /** Reads the log a last time from each server that still replies. */
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
    // A restarted server counts from zero.
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
    // The log has the duration of a call. Its work is at most the processor time that the server got since the last
    // look.
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

  /** Reads all at one instant. A call that is new in the log was made since the last look. */
  private async ask(): Promise<[info: string, entries: Logged[], time: [seconds: string]]> {
    const answers = (await this.redis.multi().info('cpu').slowlog('GET', MOST_ENTRIES).time().exec()) ?? [];
    const error = answers.find(([each]) => each)?.[0];
    if (error) throw error;
    return answers.map(([, answer]) => answer) as [string, Logged[], [string]];
  }
}

/** Returns the processor time of the thread that runs scripts, in ms. NaN if the server does not report it. */
function cpuOf(info: string): number {
  const seconds = (what: string) => Number(new RegExp(`used_cpu_${what}_main_thread:([\\d.]+)`).exec(info)?.[1]);
  return (seconds('user') + seconds('sys')) * 1_000;
}

/** Finds a script by its digest. The log shows only the beginning of a script's text, which many share. */
function namesOf(scripts: Record<string, string>): (script: string) => string | undefined {
  const names = new Map(
    Object.entries(scripts).map(([name, text]) => [createHash('sha1').update(text).digest('hex'), name]),
  );
  return (script) =>
    names.get(script) ?? (script.startsWith('#!lua') ? 'a script that was sent as text' : undefined);
}
