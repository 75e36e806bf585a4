import { ForbiddenException, Inject, Injectable } from '@nestjs/common';
import {
  DASHBOARD_ACTIONS,
  type DashboardAction,
  type DashboardRequest,
  type DashboardSubject,
  type ResolvedDashboardOptions,
} from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';

/** Returns the permissions of a request, from `readOnly` and `can`. */
@Injectable()
export class Permissions {
  constructor(@Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions) {}

  async allows(
    action: DashboardAction,
    request: DashboardRequest,
    subject: DashboardSubject = {},
  ): Promise<boolean> {
    const { readOnly, can } = this.options;
    if (action !== 'view' && readOnly) {
      return false;
    }
    return can ? await can(action, request, subject) : true;
  }

  /** @throws ForbiddenException */
  async require(action: DashboardAction, request: DashboardRequest, subject: DashboardSubject = {}): Promise<void> {
    if (!(await this.allows(action, request, subject))) {
      throw new ForbiddenException(
        this.options.readOnly && action !== 'view'
          ? 'This dashboard is read-only.'
          : `You may not ${action.replace('-', ' a ')} here.`,
      );
    }
  }

  /** Returns every action that the request may do somewhere, for the page to show. */
  async actions(request: DashboardRequest, subject: DashboardSubject = {}): Promise<DashboardAction[]> {
    const allowed = await Promise.all(DASHBOARD_ACTIONS.map((action) => this.allows(action, request, subject)));
    return DASHBOARD_ACTIONS.filter((_, i) => allowed[i]);
  }

  /** Returns who sends the request, for the action log. */
  userOf(request: DashboardRequest): string {
    const named = this.options.user?.(request) ?? nameOf(request.user);
    return (named ?? request.socket?.remoteAddress ?? 'unknown').slice(0, 200);
  }
}

function nameOf(user: unknown): string | undefined {
  if (typeof user === 'string') {
    return user;
  }
  const fields = (user ?? {}) as Record<string, unknown>;
  const named = ['email', 'username', 'name', 'id'].map((field) => fields[field]);
  const found = named.find((value) => typeof value === 'string' || typeof value === 'number');
  return found === undefined ? undefined : String(found);
}
