import {
  ForbiddenException,
  Inject,
  Injectable,
  Logger,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import type { DashboardRequest, ResolvedDashboardOptions, ResolvedMount } from '../dashboard-options.js';
import { DASHBOARD_MOUNT, DASHBOARD_OPTIONS } from '../tokens.js';
import { routeKindOf } from './declared-route.js';
import { crossSiteProblem, isFromThisMachine } from './request-facts.js';

/**
 * Runs before the app's guards. Without guards it serves only this machine, and it always refuses changes sent from
 * other sites.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  private readonly logger = new Logger('JobQueueDashboard');
  private warned = false;

  constructor(
    @Inject(DASHBOARD_MOUNT) private readonly mount: ResolvedMount,
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<DashboardRequest>();
    const { guards, allowRemote } = this.mount;
    if (guards.length === 0 && !allowRemote && !isFromThisMachine(request)) {
      this.warnOnce();
      throw new ForbiddenException(
        'The dashboard has no guard, so it serves only this machine. Set `guards` of JobQueueDashboardModule.forRoot.',
      );
    }
    const problem = crossSiteProblem(request, routeKindOf(context.getHandler()), this.options.origins);
    if (problem !== undefined) {
      throw new ForbiddenException(problem);
    }
    return true;
  }

  private warnOnce(): void {
    if (!this.warned) {
      this.warned = true;
      this.logger.warn(
        `Refused a request from another machine, because the dashboard at /${this.mount.path} has no guard. ` +
          'Set `guards`, or `allowRemote: true` where a global guard or a proxy protects it.',
      );
    }
  }
}
