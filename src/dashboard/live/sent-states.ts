import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { changeOf, keyed, type KeyedOverview } from '../views/overview-changes.js';
import type { StreamEvent, StreamMessage } from '../views/stream-views.js';

/** How long a viewer that is away may continue where it was, in ms. Longer than a look of a tab without focus. */
const KEPT_MS = 30_000;
/** The most viewers that may continue. */
const MOST = 500;

/** The messages to one viewer. */
export class SentState {
  atMs = performance.now();

  constructor(
    private readonly key: string,
    private count = 0,
    private overview?: KeyedOverview,
  ) {}

  /** Returns the id of the last message. The viewer names it to continue. */
  get id(): string {
    return `${this.key}.${this.count}`;
  }

  /** Returns the next message: the whole overview at first, and then its changes. */
  next({ overview, away }: StreamEvent): StreamMessage {
    this.count += 1;
    this.atMs = performance.now();
    if (!overview) {
      return { away };
    }
    const before = this.overview;
    this.overview = keyed(overview);
    return before ? { change: changeOf(before, this.overview) ?? {} } : { overview };
  }

  /** Returns a state of its own that continues after this one. */
  continued(): SentState {
    return new SentState(this.key, this.count, this.overview);
  }
}

/** Remembers what each viewer has, so that a stream which the browser opens again continues with changes. */
@Injectable()
export class SentStates {
  private readonly kept = new Map<string, SentState>();

  /** Begins a stream. It continues if the viewer has the last message of its stream before, and else it begins anew. */
  begin(lastId: string | undefined): SentState {
    this.prune();
    const key = lastId?.split('.')[0] ?? '';
    const before = this.kept.get(key);
    const continues = before?.id === lastId ? before?.continued() : undefined;
    const newKey = continues ? key : randomBytes(12).toString('base64url');
    const state = continues ?? new SentState(newKey);
    this.kept.delete(newKey); // the newest is the last of the map
    this.kept.set(newKey, state);
    return state;
  }

  private prune(): void {
    const oldest = performance.now() - KEPT_MS;
    for (const [key, { atMs }] of this.kept) {
      if (atMs < oldest || this.kept.size >= MOST) {
        this.kept.delete(key);
      }
    }
  }
}
