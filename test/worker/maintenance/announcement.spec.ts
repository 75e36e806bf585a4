// A queue is not claimed from while Redis lacks its announcement, and is claimed from again soon. Claims, announcements and
// losses cross each other in any order. Two claims may be in flight, on connections of their own.
import { expect, it } from '@jest/globals';
import { silentLogger } from '#queue/runtime/logger.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { RepeatedStart } from '#worker/maintenance/repeated-start.js';
import { type WorkerContext, WorkerRegistration } from '#worker/maintenance/worker-reports.js';
import { Announcement, type AnnouncementEvent } from '#worker/runner/claims.js';
import fc from '../../support/queue/properties.js';

/** Each repetition of a failed announcement pauses a second at most, and the longest schedule fails so many. */
const SOON_MS = 4_000;

it.each<[AnnouncementEvent[], state: string, allowsClaims: boolean]>([
  [[], 'known', true],
  [['lost'], 'missing', false],
  [['send'], 'renewing', true],
  [['send', 'lost'], 'outdated', false],
  [['send', 'failed'], 'known', true],
  [['send', 'refused'], 'missing', false],
  [['lost', 'send', 'refused'], 'missing', false],
  [['send', 'lost', 'refused'], 'missing', false],
  [['lost', 'send'], 'sent', false],
  [['lost', 'send', 'failed'], 'missing', false],
  [['lost', 'send', 'stored'], 'known', true],
  [['lost', 'send', 'lost', 'lost', 'stored'], 'missing', false],
  [['lost', 'send', 'lost', 'failed'], 'missing', false],
])('an announcement after %p is %s', (events, state, allowsClaims) => {
  const announcement = new Announcement();
  events.forEach((event) => announcement.note(event));
  expect([announcement.state, announcement.allowsClaims]).toEqual([state, allowsClaims]);
  expect(() => announcement.note(announcement.isInFlight ? 'send' : 'stored')).toThrow(/cannot be/);
});

/** A connection: its calls arrive in order, and so do their replies. */
class Line {
  private readonly steps: (() => void)[] = [];

  get isIdle(): boolean {
    return this.steps.length === 0;
  }

  call<Reply>(run: () => Reply): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.steps.push(() => {
        let settle: () => void;
        try {
          const reply = run();
          settle = () => resolve(reply);
        } catch (error) {
          settle = () => reject(error);
        }
        this.steps.push(settle);
      });
    });
  }

  step(): void {
    this.steps.shift()?.();
  }
}

class Scene {
  readonly clock = new VirtualClock();
  readonly announcement = new Announcement();
  /** Whether the server has the announcement. A flush takes it away. */
  has = true;
  /** The number of announcements that the server refuses from now on. */
  refusals = 0;
  private readonly main = new Line();
  private readonly claimLines = [new Line(), new Line()];
  private readonly registration: WorkerRegistration;

  constructor() {
    const exec = (call: () => unknown) => this.main.call(call);
    const store = {
      clock: this.clock,
      passes: () => true,
      prepare: () => Promise.resolve(),
      exec,
      queues: { register: () => Promise.resolve(), renew: () => Promise.resolve([]) },
    };
    const register = () => () => {
      if (this.refusals > 0) {
        this.refusals--;
        throw new Error('LOADING Redis is loading the dataset in memory');
      }
      this.has = true;
    };
    const runner = {
      name: 'mail',
      queue: { store },
      limits: { all: [] },
      calls: { workers: { register, describe: () => () => undefined } },
      outlook: { announcement: this.announcement },
      attempts: [],
      capacity: { concurrency: 1 },
      state: {},
      announced: () => undefined,
    };
    const repeats = new RepeatedStart(store, silentLogger);
    const context = { id: 'w', runners: [runner], store, logger: silentLogger, version: '', repeats };
    this.registration = new WorkerRegistration(context as unknown as WorkerContext);
  }

  /** Claims on one of two connections, unless a claim is in flight there. */
  claim(line: Line): void {
    if (line.isIdle && this.announcement.allowsClaims) {
      const { runners } = (this.registration as unknown as { worker: WorkerContext }).worker;
      void line.call(() => this.has).then((has) => !has && this.registration.open(runners[0]!));
    }
  }

  async play(what: number): Promise<void> {
    const [one, two] = this.claimLines as [Line, Line];
    const actions = [
      () => this.claim(one),
      () => this.claim(two),
      () => one.step(),
      () => two.step(),
      () => this.main.step(),
      () => (this.has = false),
      () => this.refusals++,
    ];
    actions[what]!();
    await new Promise(setImmediate);
  }

  /** Lets all that is in flight arrive, and claims on. */
  async settle(): Promise<void> {
    for (let ms = 0; ms < SOON_MS; ms += 50) {
      for (let i = 0; i < 6; i++) for (const what of [0, 1, 2, 3, 4]) await this.play(what);
      if (this.has && this.announcement.state === 'known' && this.claimLines.every(({ isIdle }) => isIdle)) return;
      await this.clock.advance(50);
    }
  }
}

it('is claimed from again soon, in whatever order calls and replies arrive', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(6), { maxLength: 40 }), async (order) => {
      const scene = new Scene();
      for (const what of order) await scene.play(what);
      await scene.settle();
      expect([scene.announcement.state, scene.has]).toEqual(['known', true]);
    }),
    { numRuns: 500 },
  );
}, 60_000);
