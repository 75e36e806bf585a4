import { Injectable } from '@nestjs/common';

export type Tone = 'plain' | 'good' | 'bad' | 'warn';

/** A line of the story. */
export interface StoryLine {
  n: number;
  at: number;
  tone: Tone;
  text: string;
  /** The job concerned. */
  job?: string;
}

const KEPT = 60;
/** The most lines of a topic per second. The rest is summarised as a number. */
const ONE_BY_ONE = 3;

/** The events in words, bounded: a thousand jobs a second make a line a second. */
@Injectable()
export class Story {
  readonly lines: StoryLine[] = [];
  /** All lines as JSON, built once for all readers. */
  text = '[]';
  private n = 0;
  private readonly bursts = new Map<string, { told: number; more: number; last?: [text: string, job: string] }>();

  tell(tone: Tone, text: string, job?: string): void {
    this.lines.push({ n: ++this.n, at: Date.now(), tone, text, job });
    if (this.lines.length > KEPT) this.lines.shift();
    this.text = JSON.stringify(this.lines);
  }

  /** Adds a frequent event. `summary` describes several of them: "… and 12 more were completed". */
  tellOften(topic: string, tone: Tone, text: string, job: string, summary: string): void {
    const burst = this.bursts.get(topic);
    if (!burst) {
      this.bursts.set(topic, { told: 1, more: 0 });
      setTimeout(() => this.endBurst(topic, tone, summary), 1_000).unref();
    } else if (burst.told >= ONE_BY_ONE) {
      burst.more += 1;
      burst.last = [text, job];
      return;
    } else {
      burst.told += 1;
    }
    this.tell(tone, text, job);
  }

  private endBurst(topic: string, tone: Tone, summary: string): void {
    const { more, last } = this.bursts.get(topic)!;
    this.bursts.delete(topic);
    if (more > 1) this.tell(tone, `… and ${more} more ${summary}`);
    else if (last) this.tell(tone, ...last);
  }
}
