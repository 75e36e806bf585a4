// The bandwidth of a link: this many bytes per second and direction, shared fairly by its connections.
import type { Socket } from 'node:net';

/** The longest piece that passes at once, in bytes: about one packet's worth of a busy link. */
const PIECE_BYTES = 4_096;

/** The interval between two pieces, in ms. */
const TICK_MS = 5;

/** The most unused time that counts, in ms, so that an idle link sends no burst. */
const LONGEST_CREDIT_MS = 20;

interface Line {
  /** A dead link passes nothing. */
  readonly link: { readonly dead: boolean };
  readonly from: Socket;
  readonly to: Socket;
  readonly chunks: Buffer[];
}

/** One direction of a link. */
export class Bandwidth {
  private readonly lines = new Map<Socket, Line>();
  private timer: NodeJS.Timeout | undefined;
  private creditBytes = 0;
  private countedAt = 0;
  private passedBytes = 0;

  constructor(private bytesPerSecond: number) {}

  /** Returns the number of bytes that passed. */
  get passed(): number {
    return this.passedBytes;
  }

  /** Sends a chunk on as fast as the link allows. Reading pauses until then, as on a full link. */
  pass(link: Line['link'], from: Socket, to: Socket, chunk: Buffer): void {
    let line = this.lines.get(to);
    if (!line) {
      line = { link, from, to, chunks: [] };
      this.lines.set(to, line);
    }
    line.chunks.push(chunk);
    from.pause();
    if (!this.timer) {
      this.countedAt = performance.now();
      this.timer = setInterval(() => this.tick(), TICK_MS);
    }
  }

  /** Ends the limit: what waits passes at once. */
  end(): void {
    this.bytesPerSecond = Infinity;
    this.tick();
  }

  private tick(): void {
    const now = performance.now();
    const elapsedMs = Math.max(TICK_MS, Math.min(now - this.countedAt, 50));
    this.countedAt = now;
    const most = Math.max(PIECE_BYTES, (this.bytesPerSecond * LONGEST_CREDIT_MS) / 1_000);
    this.creditBytes = Math.min(most, this.creditBytes + (this.bytesPerSecond * elapsedMs) / 1_000);
    for (;;) {
      const [line] = this.lines.values();
      if (!line || this.creditBytes < 1) break;
      this.lines.delete(line.to); // and to the end of the round, where more of it waits
      this.creditBytes -= this.passPiece(line);
    }
    if (this.lines.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
  }

  /** Returns how many bytes passed. */
  private passPiece(line: Line): number {
    const { link, from, to, chunks } = line;
    if (link.dead || to.destroyed) {
      from.resume();
      return 0;
    }
    const chunk = chunks.shift()!;
    const size = Math.min(PIECE_BYTES, Math.max(1, Math.floor(this.creditBytes)), chunk.length);
    to.write(chunk.subarray(0, size));
    this.passedBytes += size;
    if (size < chunk.length) {
      chunks.unshift(chunk.subarray(size));
    }
    if (chunks.length > 0) {
      this.lines.set(to, line);
    } else {
      from.resume();
    }
    return size;
  }
}
