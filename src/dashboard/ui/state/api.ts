import type { ProblemView } from '../../views/views.js';

/** The folder of the dashboard on its server: the files of the page are in `assets/` below it. */
export const BASE = new URL(/* @vite-ignore */ '../', import.meta.url);

/** An answer that says no, in words for a person. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The path of the invalid value, with which the message begins. */
    readonly subject?: string,
  ) {
    super(message);
  }

  get isGone(): boolean {
    return this.status === 404;
  }
}

type Query = Record<string, string | number | null | undefined>;

/** @param base the folder of the dashboard of another server */
export function get<Reply>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
  base: URL = BASE,
): Promise<Reply> {
  const url = new URL(`api/${path}`, base);
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') {
      url.searchParams.set(key, String(value));
    }
  }
  return ask<Reply>(url, { signal: signal ?? null });
}

export function post<Reply>(path: string, body: unknown): Promise<Reply> {
  return ask<Reply>(new URL(`api/${path}`, BASE), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
    body: JSON.stringify(body),
  });
}

async function ask<Reply>(url: URL, init: RequestInit): Promise<Reply> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: 'same-origin', ...init });
  } catch (error) {
    if (init.signal?.aborted) {
      throw error;
    }
    throw new Problem(0, 'unreachable', 'The app does not answer.');
  }
  const body = (await response.json().catch(() => null)) as unknown;
  if (!response.ok) {
    throw problemOf(response.status, body);
  }
  return body as Reply;
}

function problemOf(status: number, body: unknown): Problem {
  const { error, message } = (body ?? {}) as Partial<ProblemView> & { message?: unknown };
  if (error && typeof error.message === 'string') {
    return new Problem(status, error.code, error.message, error.subject);
  }
  // The app's own filters answer for its guards.
  const refused = status === 401 || status === 403;
  const fallback = refused ? 'You may not do this. Are you still logged in?' : `The server answered ${status}.`;
  return new Problem(status, refused ? 'refused' : 'failed', typeof message === 'string' ? message : fallback);
}
