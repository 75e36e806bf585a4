// The recorded replies of an original server to the script of pattern-shapes.spec.ts, call by call. It holds their
// form, and the parts that every server of the pattern must reply.
import { readFileSync, writeFileSync } from 'node:fs';
import type { Call, Jobs, ListedJob } from './pattern-shapes.js';

const FILE = new URL('./pattern-recording.json', import.meta.url);

export interface Said {
  call: Call;
  form?: Record<string, string>;
  answer: unknown;
}

export function readRecording(): Said[] {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Said[];
}

export function writeRecording(said: Said[]): void {
  const lines = said.map((each) => JSON.stringify(each));
  writeFileSync(FILE, `[\n${lines.join(',\n')}\n]\n`);
}

/**
 * Normalises replies to the part that every server of the pattern shares. Ids are numbered as they come, results and
 * errors are left out, and a payload keeps the pattern's fields.
 */
export class Recorder {
  readonly said: Said[] = [];
  private readonly ids = new Map<string, string>();

  /** Notes a response. With `moving` the workers run, so that no number is the same twice. */
  note(call: Call, form: Record<string, string> | undefined, answer: unknown, moving: boolean): void {
    const common = call === 'GET /jobs' ? this.jobs(answer as Jobs) : this.common(answer, moving);
    this.said.push({ call, ...(form && { form }), answer: common });
  }

  private jobs({ pending, processing, completed, failed }: Jobs) {
    return {
      pending: pending.map((job) => this.job(job)),
      processing: processing.map((job) => this.job(job)),
      // Two workers end in no order of their own.
      completed: completed.map((job) => this.job(job)).toSorted(byId),
      failed: failed.map((job) => this.job(job)),
    };
  }

  private job({ payload: { kind, recipient, n }, result, last_error, ...job }: ListedJob) {
    const own = { result: result && typeof result, last_error: last_error && typeof last_error };
    return { ...(this.common(job, false) as { id: unknown }), payload: { kind, recipient, n }, ...own };
  }

  private common(value: unknown, moving: boolean): unknown {
    if (Array.isArray(value)) return value.map((each) => this.common(each, moving));
    if (typeof value === 'number' && moving) return 'a number';
    if (typeof value === 'string' && /^[0-9A-Za-z]{11,16}$/.test(value)) return this.idOf(value);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.common(each, moving)]));
  }

  private idOf(id: string): string {
    if (!this.ids.has(id)) this.ids.set(id, `job ${String(this.ids.size + 1).padStart(2, '0')}`);
    return this.ids.get(id)!;
  }
}

function byId(a: { id: unknown }, b: { id: unknown }): number {
  return String(a.id).localeCompare(String(b.id));
}
