import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  type ResolvedDashboardOptions,
  type ResolvedMount,
  DASHBOARD_MOUNT,
  DASHBOARD_OPTIONS,
} from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';
import type { SessionView } from '../views/views.js';
import { Reads, Routes, type Call } from './route.js';

/** Returns the user of the page, and the user's permissions. */
@Injectable()
export class SessionController extends Routes {
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    @Inject(DASHBOARD_MOUNT) private readonly mount: ResolvedMount,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/session', z.object({}))
  async session(_query: object, { request }: Call): Promise<SessionView> {
    return {
      title: this.options.title,
      ...(this.options.back && { back: this.options.back }),
      servers: this.servers(),
      readOnly: this.options.readOnly,
      othersReadOnly: this.options.otherQueues === true,
      user: this.permissions.userOf(request),
      actions: await this.permissions.actions(request),
    };
  }

  private servers(): SessionView['servers'] {
    const here = partsOf(this.mount.path);
    // Relative, because a proxy may have taken a part off the front of the path.
    const root = '../'.repeat(here.length);
    return this.options.servers.map(({ name, path }) => ({
      name,
      href: `${root}${partsOf(path).join('/')}`,
      isHere: partsOf(path).join('/') === here.join('/'),
    }));
  }
}

function partsOf(path: string): string[] {
  return path.split('/').filter(Boolean);
}
