import { ForbiddenException, Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import {
  hasNoGuard,
  type DashboardRequest,
  type ResolvedDashboardOptions,
  type ResolvedMount,
} from '../dashboard-options.js';
import { DASHBOARD_MOUNT, DASHBOARD_OPTIONS } from '../tokens.js';
import { routeKindOf } from './declared-route.js';
import { LinkGuard } from './link-guard.js';
import { crossSiteProblem } from './request-facts.js';

/** Runs before the app's guards, or in their place. It refuses requests of other sites. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(DASHBOARD_MOUNT) private readonly mount: ResolvedMount,
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly link: LinkGuard,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<DashboardRequest>();
    const problem = crossSiteProblem(request, routeKindOf(context.getHandler()), this.options.origins);
    if (problem !== undefined) {
      throw new ForbiddenException(problem);
    }
    return !hasNoGuard(this.mount) || this.link.canActivate(context);
  }
}
