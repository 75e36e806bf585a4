import { type CanActivate, type ExecutionContext, ForbiddenException, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import {
  type DashboardRequest,
  type ResolvedDashboardOptions,
  type ResolvedMount,
  hasNoGuard,
} from '../dashboard-options.js';
import { DASHBOARD_MOUNT, DASHBOARD_OPTIONS } from '../tokens.js';
import { routeKindOf } from './declared-route.js';
import { LinkGuard } from './link-guard.js';
import { crossSiteProblem, hostProblem } from './request-facts.js';

/**
 * Runs before the app's guards, or in their place. It gives every response its headers, also a refusal of a guard. It
 * refuses requests of other sites, and of other hosts.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  /** True if only the token of the link lets anybody in. A page at another host name does not have it. */
  private readonly needsToken: boolean;

  constructor(
    @Inject(DASHBOARD_MOUNT) private readonly mount: ResolvedMount,
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly link: LinkGuard,
    private readonly host: HttpAdapterHost,
  ) {
    this.needsToken = hasNoGuard(mount) || mount.guards.includes(LinkGuard);
  }

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      this.host.httpAdapter.setHeader(http.getResponse(), name, value);
    }
    const request = http.getRequest<DashboardRequest>();
    const { origins, hosts } = this.options;
    const problem =
      crossSiteProblem(request, routeKindOf(context.getHandler()), origins) ??
      (this.needsToken ? undefined : hostProblem(request, hosts));
    if (problem !== undefined) {
      throw new ForbiddenException(problem);
    }
    return !hasNoGuard(this.mount) || this.link.canActivate(context);
  }
}

/** The permissions of the page: its own scripts, styles and server. Nothing inline, no other host. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The headers of every response of the dashboard. A file that never changes has another `Cache-Control`. */
const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
