import { Body, Get, Post, Req, Res, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { BulkRuns } from '../actions/bulk-runs.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { matchSchema } from '../search/job-match.js';
import { Permissions } from '../security/permissions.js';
import { actionSchema, requireState } from './actions.controller.js';
import { checkInput, KnownQueues, queueName, stateSchema } from './known-queue.js';
import { Responder } from './responder.js';

const startSchema = z.strictObject({
  action: actionSchema,
  queue: queueName,
  state: stateSchema,
  match: matchSchema,
});
const stopSchema = z.strictObject({ queue: queueName, id: z.uuid({ error: 'expected the id of a run' }) });

/** Begins, shows and stops actions on all jobs that match. */
@Injectable()
export class RunsController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly runs: BulkRuns,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Post('api/runs')
  async start(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { action, queue: name, state, match } = checkInput(startSchema, body);
      requireState(action, state);
      await this.permissions.require(action, request, { queue: name });
      const user = this.permissions.userOf(request);
      return this.runs.start(this.queues.get(name), { action, state, match, user });
    });
  }

  @Get('api/runs')
  async list(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      await this.permissions.require('view', request);
      const runs = await this.runs.list();
      const seen = await Promise.all(runs.map(({ queue }) => this.permissions.allows('view', request, { queue })));
      return { runs: runs.filter((_, i) => seen[i]) };
    });
  }

  /** Stops a run. A user who may do its action may stop it. */
  @Post('api/runs/stop')
  async stop(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, id } = checkInput(stopSchema, body);
      const run = (await this.runs.list()).find((each) => each.id === id && each.queue === name);
      await this.permissions.require(run?.action ?? 'redrive', request, { queue: name });
      await this.runs.stop(this.queues.get(name), id);
      return { done: run ? 1 : 0, spared: 0 };
    });
  }
}
