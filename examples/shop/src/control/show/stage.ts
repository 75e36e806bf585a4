import { setTimeout as wait } from 'node:timers/promises';
import { settings } from '../../settings.js';
import { ConflictException, Injectable, ServiceUnavailableException, type OnModuleDestroy } from '@nestjs/common';
import type { Tone } from '../story/story.js';

const LOOK_MS = 200;
const WITHOUT_REDIS =
  'There is no Redis here, so one process does everything, and its jobs are in its memory. A kill would end the shop and ' +
  'lose them. Install Redis (or start Docker), and run npm start again: then a worker dies, and its job does not.';

/** The stories that the page tells on its stage. */
export type ShowName = 'crash' | 'deploy' | 'tenants';

/** The last line of a story. */
export type End = [text: string, tone: Tone];

/** A line of a story. A later text with the same name replaces it. */
export interface ShowStep {
  name: string;
  text: string;
  tone: Tone;
}

/** The stage of the page: one story at a time, with its steps so far. It continues without a viewer. */
@Injectable()
export class Stage implements OnModuleDestroy {
  running = false;
  name: ShowName | undefined;
  /** The jobs of the story. */
  jobs: readonly string[] = [];
  steps: ShowStep[] = [];
  /** True until a first story began, if a page is to begin one by itself. */
  offered = false;
  private readonly closing = new AbortController();

  onModuleDestroy(): void {
    this.closing.abort();
  }

  /** Forgets an ended story. */
  clear(): void {
    if (this.running) return;
    this.steps = [];
    this.jobs = [];
  }

  /**
   * Begins a story. `prepare` enqueues its jobs.
   *
   * @throws ConflictException while a story runs, and without Redis; also what `prepare` throws
   */
  async begin<Made>(name: ShowName, prepare: () => Promise<Made>): Promise<Made> {
    if (settings.inMemory) throw new ConflictException(WITHOUT_REDIS);
    if (this.running) throw new ConflictException('A story is told already: one at a time.');
    this.clear();
    this.running = true;
    this.offered = false;
    this.name = name;
    try {
      return await prepare();
    } catch (error) {
      this.running = false;
      throw error;
    }
  }

  /** Looks at the story until it ends, and tells its end. */
  async play(look: () => Promise<End | undefined>): Promise<void> {
    let end: End | undefined;
    try {
      while (!end) {
        await wait(LOOK_MS, undefined, { signal: this.closing.signal });
        end = await unlessAway(look);
      }
    } catch (error) {
      if (this.closing.signal.aborted) return;
      end = [(error as Error).message, 'bad'];
    }
    this.tell('end', ...end);
    this.running = false;
  }

  tell(name: string, text: string, tone: Tone = 'plain'): void {
    const step = { name, text, tone };
    const at = this.steps.findIndex((each) => each.name === name);
    this.steps = at < 0 ? [...this.steps, step] : this.steps.with(at, step);
  }
}

/** Returns undefined while Redis is away. The page reports that, and the story continues after its return. */
async function unlessAway(look: () => Promise<End | undefined>): Promise<End | undefined> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ServiceUnavailableException) return undefined;
    throw error;
  }
}
