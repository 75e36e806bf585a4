import { Injectable } from '@nestjs/common';

/** What happened, in words. */
@Injectable()
export class Journal {
  private readonly lines: string[] = [];

  note(line: string): void {
    this.lines.push(line);
  }

  /** Waits until the journal has this many lines. Returns them sorted, because queues run side by side. */
  async all(count: number): Promise<string[]> {
    while (this.lines.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    return this.lines.toSorted();
  }
}
