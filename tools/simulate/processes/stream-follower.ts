// A process that reads streams by the library's own reader. It begins at the start, or goes on behind the last item that it has had.
import { SimulatedProcess } from './process.js';

export class StreamFollower extends SimulatedProcess {
  /** The last item of each job that it followed. */
  private readonly after = new Map<string, string>();

  protected override async work(): Promise<void> {
    const { random, history } = this.world;
    while (!this.world.isEnding) {
      const ids = [...history.jobs].filter(([, { queue }]) => queue === 'mixed').map(([id]) => id);
      if (ids.length > 0) {
        await this.follow(random.pick(ids.slice(-20)), random.between(50, 4_000));
      }
      await this.sleep(random.between(1, 200));
    }
  }

  /** Follows a job until it ends, or leaves after some time, as a page that is closed. A later reader goes on from there. */
  private async follow(id: string, forMs: number): Promise<void> {
    const { streams } = this.world.history;
    const leaving = new AbortController();
    this.clock.setTimeout(() => leaving.abort(new Error('the reader leaves')), forMs);
    const after = this.after.get(id);
    try {
      const items = this.queues.mixed.stream(id, { signal: leaving.signal, ...(after && { after }) });
      for await (const item of items) {
        streams.followed(this.name, id, item);
        this.after.set(id, item.id);
        if (item.type === 'result') {
          streams.followedToEnd(this.name, id, this.world.streamOf('mixed', id));
        }
      }
    } catch {
      // It left, or the job failed or is gone.
    }
  }
}
