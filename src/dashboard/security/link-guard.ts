import {
  ForbiddenException,
  HttpException,
  HttpStatus,
  Injectable,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { header } from './request-facts.js';

/** The environment variable with a token that outlives the process. */
const TOKEN_VARIABLE = 'JOB_QUEUE_LINK_TOKEN';
/** Where the token of this process is, shared by an ES module and a CommonJS copy. */
const TOKEN = Symbol.for('nest-job-queue:link-token');
const SHORTEST_TOKEN = 20;
const PARAMETER = 'token';

type LinkRequest = DashboardRequest & {
  url: string;
  originalUrl?: string;
  socket?: { localPort?: number };
};

/**
 * Lets in who opened the link that the app prints at its start. The link has a random token, which becomes a cookie.
 * A proxy in front does not know the token, so nobody comes in by an address alone. Programs send the token as
 * `Authorization: Bearer TOKEN`.
 *
 * The dashboard uses this guard where it has no other. An app may use it for routes of its own, such as a demo's.
 *
 * @example { provide: APP_GUARD, useClass: LinkGuard }
 */
@Injectable()
export class LinkGuard implements CanActivate {
  /** Called by Nest. @internal */
  constructor(private readonly host: HttpAdapterHost) {}

  /**
   * Returns an address of the app with the token, for the log or a terminal.
   *
   * @throws InvalidOptionError if `JOB_QUEUE_LINK_TOKEN` is too short
   */
  static linkTo(address: string): string {
    const link = new URL(address);
    link.searchParams.set(PARAMETER, tokenOfProcess());
    return link.href;
  }

  /** Called by Nest. @throws ForbiddenException where the token is missing */
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<LinkRequest>();
    if (isToken(cookieOf(request)) || isToken(bearerOf(request))) {
      return true;
    }
    const { searchParams } = addressOf(request);
    if (request.method === 'GET' && isToken(searchParams.get(PARAMETER) ?? undefined)) {
      this.letIn(request, http.getResponse());
    }
    throw new ForbiddenException(
      'Open the link that the app printed at its start: only its token lets you in. A restart makes a new one.',
    );
  }

  /** Sets the cookie, and sends the browser to the same address without the token. Always throws. */
  private letIn(request: LinkRequest, response: unknown): never {
    const { httpAdapter } = this.host;
    const cookie = `${cookieName(request)}=${tokenOfProcess()}; Path=/; HttpOnly; SameSite=Lax`;
    httpAdapter.appendHeader(response, 'Set-Cookie', cookie);
    httpAdapter.setHeader(response, 'Cache-Control', 'no-store');
    httpAdapter.setHeader(response, 'Referrer-Policy', 'no-referrer');
    httpAdapter.setHeader(response, 'Location', withoutToken(addressOf(request)));
    throw new HttpException('Continue at the address without the token.', HttpStatus.FOUND);
  }
}

/** Returns the token of this process; each process makes another one unless the environment has one. */
function tokenOfProcess(): string {
  const known = globalThis as { [TOKEN]?: string };
  const given = process.env[TOKEN_VARIABLE];
  if (given !== undefined && given.length < SHORTEST_TOKEN) {
    throw new InvalidOptionError(
      TOKEN_VARIABLE,
      `at least ${SHORTEST_TOKEN} random characters`,
      `${given.length} characters`,
    );
  }
  return (known[TOKEN] ??= given ?? randomBytes(32).toString('base64url'));
}

function isToken(text: string | undefined): boolean {
  return text !== undefined && timingSafeEqual(digest(text), digest(tokenOfProcess()));
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

function bearerOf(request: LinkRequest): string | undefined {
  return /^Bearer (\S+)$/i.exec(header(request, 'authorization') ?? '')?.[1];
}

function addressOf({ originalUrl, url }: LinkRequest): URL {
  const path = originalUrl ?? url;
  return new URL(`http://localhost/${path.replace(/^\/+/, '')}`);
}

/** Returns the address relative to itself, because a proxy may have taken a part off the front of the path. */
function withoutToken({ pathname, searchParams }: URL): string {
  searchParams.delete(PARAMETER);
  const query = searchParams.toString();
  return `./${pathname.slice(pathname.lastIndexOf('/') + 1)}${query && `?${query}`}`;
}
