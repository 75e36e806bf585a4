import {
  ForbiddenException,
  HttpException,
  HttpStatus,
  Injectable,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { header } from './request-facts.js';

/** The environment variable with a token that outlives the process. */
const TOKEN_VARIABLE = 'JOB_QUEUE_LINK_TOKEN';
/** Where the token of this process is, shared by an ES module and a CommonJS copy. */
const TOKEN = Symbol.for('nest-job-queue:link-token');
/** The characters of a token that a program can send as `Authorization: Bearer` (RFC 6750). */
const TOKEN_FORM = /^[\w.~+/-]{20,}=*$/;
/** The time that the cookie lets a browser in, in s. */
const COOKIE_LIFE_S = 12 * 60 * 60;
const PARAMETER = 'token';

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
    link.searchParams.set(PARAMETER, tokenOfProcess());
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
    if (request.method === 'GET' && isToken(searchParams.get(PARAMETER) ?? undefined)) {
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
  const known = globalThis as { [TOKEN]?: string };
  const given = process.env[TOKEN_VARIABLE];
  if (given !== undefined && !TOKEN_FORM.test(given)) {
    const isShort = given.length < 20;
    throw new InvalidOptionError(
      TOKEN_VARIABLE,
      'at least 20 random characters of A-Z a-z 0-9 - . _ ~ + /',
      isShort ? `${given.length} characters` : 'another character, such as a blank or a line break',
    );
  }
  return (known[TOKEN] ??= given ?? randomBytes(32).toString('base64url'));
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
  searchParams.delete(PARAMETER);
  const query = searchParams.toString();
  return `./${pathname.slice(pathname.lastIndexOf('/') + 1)}${query && `?${query}`}`;
}
