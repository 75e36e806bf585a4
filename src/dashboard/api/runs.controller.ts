import { Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { onJobs } from '../../queue/actions/noted-action.js';
import { BulkRuns, subjectOf } from '../actions/bulk-runs.js';
import { wholeNumber } from '../../queue/validation/numbers.js';
import { matchSchema } from '../search/job-match.js';
import { HiddenParts } from '../security/hidden-parts.js';
import { Permissions } from '../security/permissions.js';
import type { RunView } from '../views/views.js';
import { actionSchema, requireState } from './actions.controller.js';
import { queueName, stateSchema } from './known-queue.js';
import { Changes, Reads, Routes } from './route.js';
import type { Call, ChangeCall, Outcome } from './route-runner.js';

/** A limit for numbers of jobs that no queue reaches. */
const MOST_JOBS = 1_000_000_000;

const startSchema = z.strictObject({
  action: actionSchema,
  queue: queueName,
  state: stateSchema,
  match: matchSchema,
  most: wholeNumber(1, MOST_JOBS).nullable().default(null),
  perSecond: wholeNumber(1, MOST_JOBS).nullable().default(null),
});
const stopSchema = z.strictObject({ queue: queueName, id: z.uuid({ error: 'expected the id of a run' }) });

/** Begins, shows and stops actions on all jobs that match. */
@Injectable()
export class RunsController extends Routes {
  constructor(
    private readonly runs: BulkRuns,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Changes('api/runs', startSchema, {
    logs: ({ action, ...run }) => onJobs(`begin-${action}`, subjectOf(run)),
  })
  async start(
    { action, state, match, most, perSecond }: z.output<typeof startSchema>,
    { queue, user, request }: ChangeCall,
  ): Promise<RunView> {
    requireState(action, state);
    const allowedOf = (ids: readonly string[]) =>
      this.permissions.allowedIds(action, request, { queue: queue.name }, ids);
    return this.runs.start(queue, { action, state, match, user, most, perSecond }, allowedOf);
  }

  @Reads('api/runs', z.object({}))
  async list(_query: object, { request }: Call): Promise<{ runs: RunView[] }> {
    const runs = await this.runs.list();
    const seen = await Promise.all(runs.map(({ queue }) => this.permissions.allows('view', request, { queue })));
    const parts = new HiddenParts(this.permissions, request);
    return { runs: await Promise.all(runs.filter((_, i) => seen[i]).map((run) => parts.ofRun(run))) };
  }

  /** Stops a run. A user who may do its action may stop it. */
  @Changes('api/runs/stop', stopSchema, {
    needs: async ({ queue, id }, controller: RunsController) => {
      const run = await controller.find(queue, id);
      return [{ action: run?.action ?? 'redrive', queue }];
    },
    logs: ({ id }) => ({ action: 'stop-run', subject: `run ${id}` }),
  })
  async stop({ id }: z.output<typeof stopSchema>, { queue }: ChangeCall): Promise<Outcome> {
    if (!(await this.find(queue.name, id))) {
      throw new NotFoundException('There is no run of that id any more.');
    }
    await this.runs.stop(queue, id);
    return { done: 1 };
  }

  private async find(queue: string, id: string): Promise<RunView | undefined> {
    return (await this.runs.list()).find((each) => each.id === id && each.queue === queue);
  }
}
