import type { JobOutcome } from '../model/job-event.js';
import { UnexpectedReply } from '../store/unexpected-reply.js';
import { listOf } from './check-reply.js';

const LINE = /^(completed|failed|cancelled) (\d{1,15}) (\d{1,15}) (.*)$/s;

/** Decodes the lines of a job, of which the later end counts; see `lua/lib/audit/outcomes.lua`. Null without a line. */
export function decodeOutcome(queue: string, id: string, reply: unknown): JobOutcome | null {
  const lines = listOf(reply).filter((line) => line !== null);
  const [last] = lines
    .map((line) => decodeLine(queue, id, line))
    .toSorted((a, b) => b.at.getTime() - a.at.getTime());
  return last ?? null;
}

function decodeLine(queue: string, id: string, line: unknown): JobOutcome {
  const [, status, at, attempts, name] = LINE.exec(String(line)) ?? [];
  if (status === undefined) {
    throw new UnexpectedReply('the line of an ended job', line);
  }
  return {
    id,
    name: name || queue,
    queue,
    status: status as JobOutcome['status'],
    at: new Date(Number(at)),
    attempts: Number(attempts),
  };
}
