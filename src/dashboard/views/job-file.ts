// Parts of a job as files, for what the page shows cut.
import type { StoredError } from '../../queue/errors/stored-error.js';
import type { ShownJob } from '../../queue/store/shown-content.js';

/** A text that a browser saves as a file. */
export interface TextFile {
  name: string;
  /** A type that no browser runs. */
  type: 'application/json' | 'text/plain';
  text: string;
}

/** The parts of a job that can be downloaded. */
export const JOB_PARTS = ['payload', 'result', 'progress', 'errors', 'log'] as const;
export type JobPart = (typeof JOB_PARTS)[number];

export function fileOf(job: ShownJob, part: JobPart): TextFile {
  const name = `${job.queue}-${job.id}-${part}`;
  const text = (of: string): TextFile => ({ name: `${name}.txt`, type: 'text/plain', text: of });
  const payloadFile = (payload: ShownJob['payload']): TextFile => {
    switch (payload.is) {
      case 'broken':
        return text(payload.text);
      case 'unshown':
        return text(`${payload.reason}\n`);
      case 'left-out':
        return text(`A payload of ${payload.bytes} bytes, which was not read.\n`);
      default:
        return jsonFile(name, payload.value);
    }
  };
  switch (part) {
    case 'errors':
      return text(errorsOf(job));
    case 'log':
      return text(job.log.map(({ at, message }) => `${at.toISOString()} ${message}\n`).join(''));
    case 'payload':
      return payloadFile(job.payload);
    default:
      return jsonFile(name, job[part]);
  }
}

/** Returns JSON without indents: those of a deeply nested value could take a gigabyte. */
function jsonFile(name: string, value: unknown): TextFile {
  return { name: `${name}.json`, type: 'application/json', text: `${JSON.stringify(value ?? null)}\n` };
}

/** Returns the errors of all attempts with their stacks and causes; the last error alone where no attempt is kept. */
function errorsOf({ attemptLog, lastError = '' }: ShownJob): string {
  const kept = attemptLog.flatMap(({ attempt, endedAt, error }) =>
    error ? [`Attempt ${attempt}, ${endedAt.toISOString()}\n${errorText(error)}`] : [],
  );
  return `${kept.length > 0 ? kept.join('\n\n') : lastError}\n`;
}

function errorText({ name, message, stack, cause, errors = [] }: StoredError): string {
  const inner = [...(cause ? [cause] : []), ...errors].map((each) => `Caused by: ${errorText(each)}`);
  return [stack ?? `${name}: ${message}`, ...inner].join('\n');
}
