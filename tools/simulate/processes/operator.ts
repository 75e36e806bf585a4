// An operator of the simulated fleet: cancels, removes, redrives, pauses, and changes single jobs.
import { SimulatedProcess } from './process.js';

export class SimulatedOperator extends SimulatedProcess {
  protected override async work(): Promise<void> {
    const { random, parts } = this.world;
    const verbs = [() => this.cancel(), () => this.remove(), () => this.redrive(), () => this.pause()];
    const changes = [
      () => this.update(),
      () => this.reschedule(),
      () => this.promote(),
      () => this.setPriority(),
      () => this.runAgain(),
    ];
    const all = parts.has('changes') ? [...verbs, ...changes] : verbs;
    while (!this.world.isEnding) {
      await this.sleep(random.between(100, parts.has('changes') ? 800 : 2_000));
      await random
        .pick(all)()
        .catch(() => undefined); // a call without an answer
    }
  }

  /** Returns one of the last jobs. @param isPlain only one whose payload nobody else replaces, and which waits for no other */
  private pick(isPlain = false): string | undefined {
    const jobs = [...this.world.history.jobs].slice(-60);
    const mixed = jobs.filter(([, job]) => job.queue === 'mixed' && (!isPlain || job.isPlain)).map(([id]) => id);
    return mixed.length > 0 ? this.world.random.pick(mixed.slice(-30)) : undefined;
  }

  private async cancel(): Promise<void> {
    const id = this.pick();
    if (id !== undefined) {
      await this.queues.mixed.cancel(id);
    }
  }

  private async remove(): Promise<void> {
    const id = this.pick();
    if (id !== undefined) {
      this.world.history.jobs.get(id)!.removed = true;
      await this.queues.mixed.remove(id);
    }
  }

  private async redrive(): Promise<void> {
    const { history } = this.world;
    const letters = await this.queues.mixed.list('failed', { limit: 5 });
    letters.forEach(({ id }) => history.startsAnew(id));
    await this.queues.mixed.deadLetters.redriveMany(letters.map(({ id }) => id));
  }

  private async pause(): Promise<void> {
    const { mixed } = this.queues;
    await mixed.pause().catch(() => undefined); // it may be paused even if the call failed
    await this.sleep(this.world.random.between(10, 1_000));
    await this.untilAnswered(() => mixed.resume());
  }

  private async update(): Promise<void> {
    const { runs } = this.world.history;
    const id = this.pick(true);
    if (id !== undefined) {
      const payload = runs.nextNumber();
      runs.deletesCheckpoint(id);
      this.world.history.steps.deletes(id);
      const answer = await this.queues.mixed.update(id, payload);
      const fence = this.world.sequenceOf('mixed');
      runs.deletedCheckpoint(id, fence);
      if (answer === 'updated') {
        runs.replaced(id, payload, fence);
      }
    }
  }

  private async reschedule(): Promise<void> {
    const { random, clock, history } = this.world;
    const id = this.pick(true); // a replacement would give it another start
    if (id !== undefined) {
      const delayMs = random.between(0, 3_000);
      const dueAt = clock.now() + delayMs;
      history.runs.isDue(id, undefined);
      if ((await this.queues.mixed.reschedule(id, { delayMs })) === 'scheduled') {
        history.runs.isDue(id, dueAt, this.world.sequenceOf('mixed'));
      }
    }
  }

  private async promote(): Promise<void> {
    const id = this.pick();
    if (id !== undefined) {
      this.world.history.runs.isDue(id, undefined);
      await this.queues.mixed.promote(id);
    }
  }

  private async setPriority(): Promise<void> {
    const id = this.pick();
    if (id !== undefined) {
      await this.queues.mixed.setPriority(id, this.world.random.between(0, 3));
    }
  }

  private async runAgain(): Promise<void> {
    const { history } = this.world;
    const id = this.pick();
    if (id !== undefined) {
      const before = this.world.sequenceOf('mixed');
      history.startsAnew(id);
      history.runs.deletesCheckpoint(id);
      const answer = await this.queues.mixed.runAgain(id);
      history.runs.deletedCheckpoint(id, this.world.sequenceOf('mixed'));
      if (answer === 'pending') {
        history.runs.runsAgain(id, before);
      }
    }
  }
}
