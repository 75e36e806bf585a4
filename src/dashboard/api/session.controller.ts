import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { ResolvedDashboardOptions } from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';
import type { SessionView } from '../views/views.js';
import { Reads, Routes } from './route.js';
import type { Call } from './route-runner.js';

/** Returns the user of the page, and the user's permissions. */
@Injectable()
export class SessionController extends Routes {
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/session', z.object({}))
  async session(_query: object, { request }: Call): Promise<SessionView> {
    return {
      title: this.options.title,
      ...(this.options.back && { back: this.options.back }),
      readOnly: this.options.readOnly,
      othersReadOnly: this.options.otherQueues === true,
      user: this.permissions.userOf(request),
      actions: await this.permissions.actions(request),
    };
  }
}
