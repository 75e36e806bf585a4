import { Get, Inject, Req, Res, Injectable } from '@nestjs/common';
import type { DashboardRequest, ResolvedDashboardOptions } from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';
import { Responder } from './responder.js';
import type { SessionView } from '../views/views.js';

/** Returns the user of the page, and the user's permissions. */
@Injectable()
export class SessionController {
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Get('api/session')
  async session(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async (): Promise<SessionView> => {
      await this.permissions.require('view', request);
      return {
        title: this.options.title,
        readOnly: this.options.readOnly,
        user: this.permissions.userOf(request),
        actions: await this.permissions.actions(request),
      };
    });
  }
}
