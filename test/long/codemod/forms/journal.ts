import { Injectable } from '@nestjs/common';

/** What happened, in words, by subject. */
@Injectable()
export class Journal {
  private readonly lines = new Map<string, string[]>();

  note(subject: string, line: string): void {
    this.lines.set(subject, [...this.of(subject), line]);
  }

  of(subject: string): string[] {
    return this.lines.get(subject) ?? [];
  }

  /** Waits until a subject has at least `count` lines. */
  async until(subject: string, count: number): Promise<string[]> {
    while (this.of(subject).length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    return this.of(subject);
  }
}
