import type { DashboardRequest } from '../dashboard-options.js';
import type { RouteKind } from './declared-route.js';

/** Returns the first value of a header; undefined where the request has none. */
export function header(request: DashboardRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The codings of a response, and how a request accepts each. */
const CODINGS = { br: accepted('br'), gzip: accepted('gzip') };

function accepted(coding: string): RegExp {
  return new RegExp(String.raw`\b${coding}\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*,|\s*$))`);
}

export function accepts(request: DashboardRequest, coding: keyof typeof CODINGS): boolean {
  return CODINGS[coding].test(header(request, 'accept-encoding') ?? '');
}

/** The header that the page adds to every change. Another site cannot add it without the app's permission. */
const CHANGE_HEADER = 'x-job-queue-dashboard';

/**
 * Returns why a request must be refused, or undefined. Another site can make a browser send a form or JSON with its
 * user's cookies. It can read the response where the app allows it by CORS. It cannot change `Sec-Fetch-Site` or
 * `Origin`. A form of it cannot add our header to a change.
 *
 * @param kind the kind of the route; a link of another site may open a `page`
 * @param origins further origins whose pages may send requests
 */
export function crossSiteProblem(
  request: DashboardRequest,
  kind: RouteKind | undefined,
  origins: readonly string[],
): string | undefined {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isRead && kind === 'page') {
    return undefined;
  }
  const problem = foreignOrigin(request, origins);
  const isMarked = isRead || header(request, CHANGE_HEADER) !== undefined;
  return problem ?? (isMarked ? undefined : `The header ${CHANGE_HEADER} is missing.`);
}

function foreignOrigin(request: DashboardRequest, origins: readonly string[]): string | undefined {
  const origin = header(request, 'origin');
  if (origin !== undefined && origins.includes(origin)) {
    return undefined;
  }
  const site = header(request, 'sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    return `Another site sent this request (${site}). Add its origin to the option "origins" if it may.`;
  }
  // A browser that says "same-origin" knows better than a comparison of names, which a proxy may have changed.
  if (site === undefined && origin !== undefined && !hostsOf(request).includes(hostOf(origin))) {
    return `The page of ${origin} may not send this. Add it to the option "origins" if it may.`;
  }
  return undefined;
}

function hostsOf(request: DashboardRequest): (string | undefined)[] {
  return [header(request, 'host'), header(request, 'x-forwarded-host')?.split(',')[0]?.trim()].map((host) =>
    host?.toLowerCase(),
  );
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : 'none';
}
