// The guards at the door: which site and which host a request may come from. A dashboard without a guard opens by a
// link.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hostname } from 'node:os';
import { Server as TlsServer } from 'node:tls';
import {
  ForbiddenException,
  HttpException,
  HttpStatus,
  Injectable,
  type CanActivate,
  type ExecutionContext,
  Inject,
  Logger,
} from '@nestjs/common';
import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { containerOf } from '../../nest/context/container.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import {
  type DashboardRequest,
  type ResolvedDashboardOptions,
  type ResolvedMount,
  hasNoGuard,
  DASHBOARD_MOUNT,
  DASHBOARD_OPTIONS,
} from '../dashboard-options.js';

const ROUTE_METADATA = 'nest-job-queue:dashboard-route';

/** `api` is read by the page alone. A `page` is a file that another site may link to. */
type RouteKind = 'api' | 'page';

/** Marks a handler of Nest as a route whose permissions are checked. */
export function declareRoute(handler: object, kind: RouteKind): void {
  Reflect.defineMetadata(ROUTE_METADATA, kind, handler);
}

/** Returns the kind of a handler; undefined if nothing checks its permissions. */
export function routeKindOf(handler: object): RouteKind | undefined {
  return Reflect.getMetadata(ROUTE_METADATA, handler) as RouteKind | undefined;
}

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
function crossSiteProblem(
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
const LOCAL_HOSTS = /^(?:localhost|.*\.localhost|\[[\da-f:.]+\]|\d+\.\d+\.\d+\.\d+)$/;

/**
 * Returns why a request must be refused because of the host that it asks for, or undefined. A page of another site can
 * let its own host name lead to this app (DNS rebinding). The browser then takes both for one site.
 *
 * @param hosts the names beside the usual ones; one that begins with a dot stands for all below it
 */
function hostProblem(request: DashboardRequest, hosts: readonly string[]): string | undefined {
  const host = hostOf(request) ?? '';
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(host)?.[1]?.replace(/\.$/, '') ?? host;
  const isServed =
    LOCAL_HOSTS.test(name) ||
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

/** The environment variable with a token that outlives the process. */
const TOKEN_VARIABLE = 'JOB_QUEUE_LINK_TOKEN';
/** Where the token of this process is, shared by an ES module and a CommonJS copy. */
const TOKEN_KEY = Symbol.for('nest-job-queue:link-token');
/** The characters of a token that a program can send as `Authorization: Bearer` (RFC 6750). */
const TOKEN_FORM = /^[\w.~+/-]{20,}=*$/;
/** The time that the cookie lets a browser in, in s. */
const COOKIE_LIFE_S = 12 * 60 * 60;
const TOKEN_PARAMETER = 'token';

type LinkRequest = DashboardRequest & {
  url: string;
  originalUrl?: string;
  socket?: { localPort?: number; encrypted?: boolean };
};

/**
 * Lets in who opened the link that the app prints at its start. The link has a random token. It is exchanged for a
 * cookie, which does not contain it and ends after twelve hours.
 * A proxy in front does not know the token, so nobody comes in by an address alone. Programs send the token as
 * `Authorization: Bearer TOKEN`.
 *
 * The dashboard uses this guard where it has no other. An app may use it for routes of its own, such as a demo's.
 *
 * @example { provide: APP_GUARD, useClass: LinkGuard }
 */
@Injectable()
export class LinkGuard implements CanActivate {
  /**
   * Called by Nest.
   *
   * @throws InvalidOptionError if `JOB_QUEUE_LINK_TOKEN` is unsuitable
   * @internal
   */
  constructor(private readonly host: HttpAdapterHost) {
    tokenOfProcess(); // refused here, and not once the app listens
  }

  /**
   * Returns an address of the app with the token, for the log or a terminal.
   *
   * @throws InvalidOptionError if `JOB_QUEUE_LINK_TOKEN` is unsuitable
   */
  static linkTo(address: string): string {
    const link = new URL(address);
    link.searchParams.set(TOKEN_PARAMETER, tokenOfProcess());
    return link.href;
  }

  /** Called by Nest. @throws ForbiddenException where the token is missing */
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<LinkRequest>();
    if (isCookie(cookieOf(request)) || isToken(bearerOf(request))) {
      return true;
    }
    const { searchParams } = addressOf(request);
    if (request.method === 'GET' && isToken(searchParams.get(TOKEN_PARAMETER) ?? undefined)) {
      this.letIn(request, http.getResponse());
    }
    this.host.httpAdapter.setHeader(http.getResponse(), 'Cache-Control', 'no-store');
    throw new ForbiddenException(
      'Open the link that the app printed at its start: only its token lets you in. A restart makes a new one, and a browser stays in for twelve hours.',
    );
  }

  /** Sets the cookie, and sends the browser to the same address without the token. Always throws. */
  private letIn(request: LinkRequest, response: unknown): never {
    const { httpAdapter } = this.host;
    const until = String(Math.floor(Date.now() / 1_000) + COOKIE_LIFE_S);
    const cookie = `${cookieName(request)}=${cookieUntil(until)}; Path=/; Max-Age=${COOKIE_LIFE_S}; HttpOnly; SameSite=Lax`;
    httpAdapter.appendHeader(response, 'Set-Cookie', isOverTls(request) ? `${cookie}; Secure` : cookie);
    httpAdapter.setHeader(response, 'Cache-Control', 'no-store');
    httpAdapter.setHeader(response, 'Referrer-Policy', 'no-referrer');
    httpAdapter.setHeader(response, 'Location', withoutToken(addressOf(request)));
    throw new HttpException('Continue at the address without the token.', HttpStatus.FOUND);
  }
}

/** Returns the token of this process; each process makes another one unless the environment has one. */
function tokenOfProcess(): string {
  const known = globalThis as { [TOKEN_KEY]?: string };
  const given = process.env[TOKEN_VARIABLE];
  if (given !== undefined && !TOKEN_FORM.test(given)) {
    const isShort = given.length < 20;
    throw new InvalidOptionError(
      TOKEN_VARIABLE,
      'at least 20 random characters of A-Z a-z 0-9 - . _ ~ + /',
      isShort ? `${given.length} characters` : 'another character, such as a blank or a line break',
    );
  }
  return (known[TOKEN_KEY] ??= given ?? randomBytes(32).toString('base64url'));
}

function isToken(text: string | undefined): boolean {
  return text !== undefined && isSame(text, tokenOfProcess());
}

/** Returns the value of a cookie with its end, in s since 1970. Who reads it does not learn the token. */
function cookieUntil(until: string): string {
  return `${until}.${createHmac('sha256', tokenOfProcess()).update(`cookie until ${until}`).digest('base64url')}`;
}

function isCookie(value: string | undefined): boolean {
  const [, until] = /^(\d{1,12})\./.exec(value ?? '') ?? [];
  return until !== undefined && isSame(value!, cookieUntil(until)) && Number(until) > Date.now() / 1_000;
}

/** Compares by digests, so that the time says nothing about where two texts differ. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Returns the name of the cookie, one for each port: browsers send a cookie to all ports of a host. */
function cookieName({ socket }: LinkRequest): string {
  return `job-queue-link-${socket?.localPort ?? 0}`;
}

function cookieOf(request: LinkRequest): string | undefined {
  const start = `${cookieName(request)}=`;
  const cookies = (header(request, 'cookie') ?? '').split(';').map((each) => each.trim());
  return cookies.find((each) => each.startsWith(start))?.slice(start.length);
}

/** Returns whether the browser asked over TLS, as far as a proxy tells. A false claim only keeps the own cookie from being sent. */
function isOverTls(request: LinkRequest): boolean {
  const told = header(request, 'x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase();
  return request.socket?.encrypted === true || told === 'https';
}

function bearerOf(request: LinkRequest): string | undefined {
  return /^Bearer (\S+)$/i.exec(header(request, 'authorization') ?? '')?.[1];
}

function addressOf({ originalUrl, url }: LinkRequest): URL {
  const path = originalUrl ?? url;
  return new URL(`http://localhost/${path.replace(/^\/+/, '')}`);
}

/** Returns the address relative to itself, because a proxy may have taken a part off the front of the path. */
function withoutToken({ pathname, searchParams }: URL): string {
  searchParams.delete(TOKEN_PARAMETER);
  const query = searchParams.toString();
  return `./${pathname.slice(pathname.lastIndexOf('/') + 1)}${query && `?${query}`}`;
}

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

/** Logs the link to a dashboard without a guard once the app listens. */
@Injectable()
export class LinkLog {
  private readonly logger = new Logger('JobQueueDashboard');

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly ref: ModuleRef,
  ) {}

  /** @param prefix the global prefix of the app before the path of the dashboard */
  announce({ path, decorators }: ResolvedMount, prefix: string): void {
    const parts = [prefix, path].map((part) => part.replaceAll(/^\/|\/$/g, '')).filter(Boolean);
    this.host.listen$.subscribe(() => {
      const link = `Only this link opens it: ${LinkGuard.linkTo(`${this.origin()}/${parts.join('/')}`)}`;
      const others = this.globalGuards();
      const remedy = 'Mark the dashboard for them, such as by `decorators: [Public()]`, or set its `guards`.';
      this.logger.warn(
        others.length === 0
          ? `The dashboard at /${parts.join('/')} has no guard. ${link} Set \`guards\` of JobQueueDashboardModule.forRoot for other users.`
          : `The dashboard at /${parts.join('/')} has no guard of its own. ${link} The app's global guards decide ` +
              `before the link: ${others.join(', ')}. They may refuse it.${decorators.length === 0 ? ` ${remedy}` : ''}`,
      );
    });
  }

  /** Returns the names of the guards that run before those of the dashboard. */
  private globalGuards(): string[] {
    const { applicationConfig: config } = containerOf(this.ref);
    const names = [
      ...(config?.getGlobalGuards() ?? []).map((guard) => guard.constructor.name),
      ...(config?.getGlobalRequestGuards() ?? []).map(({ metatype, name }) => metatype?.name ?? String(name)),
    ];
    return [...new Set(names)].filter((name) => name !== LinkGuard.name);
  }

  private origin(): string {
    const server = this.host.httpAdapter.getHttpServer() as TlsServer;
    const scheme = server instanceof TlsServer ? 'https' : 'http';
    const bound = server.address();
    if (bound === null || typeof bound === 'string') {
      return `${scheme}://localhost`; // a socket file, behind a proxy
    }
    const { address, port } = bound;
    const isAny = address === '::' || address === '0.0.0.0';
    const name = isAny ? 'localhost' : address.includes(':') ? `[${address}]` : address;
    return `${scheme}://${name}:${port}`;
  }
}
