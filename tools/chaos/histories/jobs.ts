// The jobs of one producing process, in a few bytes a job: a million of them must fit.

const GROWTH = 1.5;

/** The jobs of one producing process, by number. */
export class Jobs {
  count = 0;
  forgotten = false;
  state = new Uint8Array(1_024);
  marks = new Uint16Array(1_024);
  starts = new Uint16Array(1_024);
  oks = new Uint8Array(1_024);
  completions = new Uint8Array(1_024);
  mostAttempts = new Uint8Array(1_024);
  firstFence = new Float64Array(1_024);
  firstStartMs = new Float64Array(1_024);
  lastFence = new Float64Array(1_024);
  completedFence = new Float64Array(1_024);

  reach(number: number): void {
    this.count = Math.max(this.count, number + 1);
    if (number < this.state.length) return;
    const size = Math.ceil((number + 1) * GROWTH);
    this.state = grown(this.state, new Uint8Array(size));
    this.marks = grown(this.marks, new Uint16Array(size));
    this.starts = grown(this.starts, new Uint16Array(size));
    this.oks = grown(this.oks, new Uint8Array(size));
    this.completions = grown(this.completions, new Uint8Array(size));
    this.mostAttempts = grown(this.mostAttempts, new Uint8Array(size));
    this.firstFence = grown(this.firstFence, new Float64Array(size));
    this.firstStartMs = grown(this.firstStartMs, new Float64Array(size));
    this.lastFence = grown(this.lastFence, new Float64Array(size));
    this.completedFence = grown(this.completedFence, new Float64Array(size));
  }
}

function grown<Numbers extends Uint8Array | Uint16Array | Float64Array>(old: Numbers, larger: Numbers): Numbers {
  larger.set(old);
  return larger;
}
