import type { Session } from 'node:inspector';
import type { ProfileKind } from '../../queue/model/profile.js';
import { systemClock, type Timer } from '../../queue/runtime/clock.js';

/** The time between two samples of the stack, in µs. */
const SAMPLING_US = 1_000;

/** The average number of allocated bytes between two samples of the heap. */
const HEAP_SAMPLING_BYTES = 32_768;

/** What a thread is to measure. */
interface ThreadMeasurement {
  readonly kind: ProfileKind;
  readonly forMs: number;
}

/** A function of a profile. A profile of the CPU has a list of them, one of the heap a tree. */
interface ProfileNode {
  readonly callFrame?: { url?: string };
  readonly children?: readonly unknown[];
}

/** Measures this thread by V8's profiler, or another thread of this process. */
export class Measurement {
  /** Resolves with the profile as JSON; with undefined if the thread has sent none. */
  readonly ended: Promise<string | undefined>;
  #resolve!: (json: string | undefined | Promise<string>) => void;
  #stop: (() => Promise<string>) | undefined;
  readonly #timer: Timer;
  readonly #asked: ThreadMeasurement;

  private constructor(asked: ThreadMeasurement, stop: () => Promise<string>) {
    this.#asked = asked;
    this.#stop = stop;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
    this.#timer = systemClock.setTimeout(() => this.end(), asked.forMs);
    this.#timer.unref();
  }

  /** Begins to measure this thread. @throws if Node has no inspector, or may not use it */
  static async begin(asked: ThreadMeasurement): Promise<Measurement> {
    return new Measurement(asked, await startProfiler(asked.kind));
  }

  /** Ends here, because the handler runs in a thread. Returns what the thread is to measure; undefined once it has ended. */
  move(): ThreadMeasurement | undefined {
    const stop = this.#stop;
    if (!stop) {
      return undefined;
    }
    systemClock.clear(this.#timer);
    this.#stop = undefined;
    stop().catch(() => undefined);
    return this.#asked;
  }

  /** Takes the profile of the thread. */
  receive(json: string): void {
    this.#resolve(json);
  }

  /** Ends the measurement, if it has not ended. */
  end(): void {
    systemClock.clear(this.#timer);
    this.#resolve(this.#stop?.());
    this.#stop = undefined;
  }
}

/** Starts V8's profiler of this thread. Returns what ends it and returns the profile as JSON. */
async function startProfiler(kind: ProfileKind): Promise<() => Promise<string>> {
  const { Session: InspectorSession } = await import('node:inspector');
  const session = new InspectorSession();
  session.connect();
  try {
    if (kind === 'cpu') {
      await post(session, 'Profiler.enable');
      await post(session, 'Profiler.setSamplingInterval', { interval: SAMPLING_US });
      await post(session, 'Profiler.start');
    } else {
      const everything = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
      await post(session, 'HeapProfiler.startSampling', { samplingInterval: HEAP_SAMPLING_BYTES, ...everything });
    }
  } catch (error) {
    session.disconnect();
    throw error;
  }
  return async () => {
    try {
      const { profile } = await post(session, kind === 'cpu' ? 'Profiler.stop' : 'HeapProfiler.stopSampling');
      hideSources(profile);
      return JSON.stringify(profile);
    } finally {
      session.disconnect();
    }
  };
}

function post(session: Session, method: string, params: object = {}): Promise<{ profile: object }> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error, reply) => {
      if (error) {
        reject(new Error(`${method}: ${error.message}`));
      } else {
        resolve(reply as { profile: object });
      }
    });
  });
}

/** Removes the source text from addresses that contain it. */
function hideSources({ nodes, head }: { nodes?: ProfileNode[]; head?: ProfileNode }): void {
  const open: ProfileNode[] = [...(nodes ?? []), ...(head ? [head] : [])];
  for (let node = open.pop(); node; node = open.pop()) {
    const { callFrame, children = [] } = node;
    if (callFrame?.url?.startsWith('data:')) callFrame.url = 'data:';
    for (const child of children) {
      if (typeof child === 'object') open.push(child as ProfileNode);
    }
  }
}
