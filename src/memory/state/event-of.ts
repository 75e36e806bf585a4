// Creates the events of a job, as lua/lib/core/emit.lua does.
import type { JobEvent } from '../../queue/model/job-event.js';

const LONGEST_ERROR = 1_000;
const LONGEST_CONTENT = 2_000;

/** The content of an event beside the job's own fields; progress and result are JSON. */
export interface EventContent {
  error?: string;
  progress?: string;
  result?: string;
}

export function eventOf(
  id: string,
  status: string,
  job: Readonly<Record<string, string | undefined>> | undefined,
  more: EventContent,
): JobEvent {
  const attempt = Number(job?.attempts ?? 0);
  return {
    id,
    status,
    ...(job?.name !== undefined && { name: job.name }),
    ...(attempt > 0 && { attempt }),
    ...(more.error && { error: short(more.error) }),
    ...(fits(more.progress) && { progress: JSON.parse(more.progress) as unknown }),
    ...(fits(more.result) && { result: JSON.parse(more.result) as unknown }),
  };
}

function fits(content: string | undefined): content is string {
  return content !== undefined && content !== '' && Buffer.byteLength(content) <= LONGEST_CONTENT;
}

/** Cuts a text at the end of a character. */
function short(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= LONGEST_ERROR) {
    return text;
  }
  const cut = bytes.subarray(0, LONGEST_ERROR).toString('latin1');
  return Buffer.from(cut.replace(/[\xc0-\xff][\x80-\xbf]*$/, ''), 'latin1').toString();
}
