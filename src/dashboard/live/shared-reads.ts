import { Injectable } from '@nestjs/common';

const KEPT_MS = 700;
const MOST = 200;

/**
 * Shares one read among simultaneous callers, so that ten viewers cost as much as one. `forget` drops earlier reads,
 * because a change that was made here must be visible at once.
 */
@Injectable()
export class SharedReads {
  private readonly reads = new Map<string, { at: number; answer: Promise<unknown> }>();

  get<Reply>(key: string, read: () => Promise<Reply>): Promise<Reply> {
    const now = performance.now();
    const known = this.reads.get(key);
    if (known && now - known.at < KEPT_MS) {
      return known.answer as Promise<Reply>;
    }
    this.prune(now);
    const answer = read();
    this.reads.set(key, { at: now, answer });
    answer.catch(() => this.reads.delete(key)); // the next request reads again
    return answer;
  }

  forget(): void {
    this.reads.clear();
  }

  private prune(now: number): void {
    for (const [key, { at }] of this.reads) {
      if (now - at >= KEPT_MS || this.reads.size >= MOST) {
        this.reads.delete(key);
      }
    }
  }
}
