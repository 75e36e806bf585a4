import { hostname } from 'node:os';
import { show } from '../../queue/errors/show.js';
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
 * Returns why a request must be refused because of the site that sent it, or undefined. Another site can make a browser
 * send a form or JSON with its user's cookies. It can read the response where the app allows it by CORS, and may then
 * add headers of its own. It cannot choose `Origin`, `Host` or `Sec-Fetch-Site`, so only these decide.
 *
 * @param kind the kind of the route; a link of another site may open a `page`
 * @param origins further origins whose pages may send requests
 */
export function crossSiteProblem(
  request: DashboardRequest,
  kind: RouteKind | undefined,
  origins: readonly string[],
): string | undefined {
  const origin = header(request, 'origin');
  const isListed = origin !== undefined && origins.includes(origin);
  if (origin !== undefined && !isListed && !isOrigin(origin, hostOf(request))) {
    return `The page of ${show(origin)} may not send this. Add it to the option "origins" if it may.`;
  }
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const site = header(request, 'sec-fetch-site');
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (isForeign && !isListed && !(isRead && kind === 'page')) {
    return `Another site sent this request (${show(site)}). Add its origin to the option "origins" if it may.`;
  }
  return isRead || header(request, CHANGE_HEADER) !== undefined
    ? undefined
    : `The header ${CHANGE_HEADER} is missing.`;
}

/** The name of this machine. */
const MACHINE = hostname();
/** The names of hosts that lead to this machine, whatever a name server says. */
const LOCAL = /^(?:localhost|.*\.localhost|\[[\da-f:.]+\]|\d+\.\d+\.\d+\.\d+)$/;

/**
 * Returns why a request must be refused because of the host that it asks for, or undefined. A page of another site can
 * let its own host name lead to this app (DNS rebinding). The browser then takes both for one site.
 *
 * @param hosts the names beside the usual ones; one that begins with a dot stands for all below it
 */
export function hostProblem(request: DashboardRequest, hosts: readonly string[]): string | undefined {
  const host = hostOf(request) ?? '';
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(host)?.[1]?.replace(/\.$/, '') ?? host;
  const isServed =
    LOCAL.test(name) ||
    [MACHINE, ...hosts].some((each) => {
      const served = each.toLowerCase();
      return name === served || (served.startsWith('.') && name.endsWith(served));
    });
  return isServed
    ? undefined
    : `This dashboard is not served at the host ${show(name)}. Add it to the option "hosts" if it is.`;
}

/** Returns the host that the browser asked for, with a port. HTTP/2 has it in a field of its own. */
function hostOf(request: DashboardRequest): string | undefined {
  return (header(request, ':authority') ?? header(request, 'host'))?.toLowerCase();
}

function isOrigin(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host !== '' && new URL(origin).host === host;
}
