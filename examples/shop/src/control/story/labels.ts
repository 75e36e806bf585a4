import { Injectable } from '@nestjs/common';

const REMEMBERED = 1_000;

/** The descriptions of jobs that this process knows, because an event of the queue has no payload. */
@Injectable()
export class Labels {
  private readonly labels = new Map<string, string>();

  remember(id: string, label: string): void {
    this.labels.set(id, label);
    const [oldest] = this.labels.keys();
    if (this.labels.size > REMEMBERED && oldest !== undefined) this.labels.delete(oldest);
  }

  of({ name, id }: { name?: string; id: string }): string {
    return this.labels.get(id) ?? `${name ?? 'job'} ${id.slice(0, 8)}`;
  }
}
