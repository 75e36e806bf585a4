import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { permissionsOf } from '../../../queue/model/actions.js';
import type { SignalOutcome } from '../../../queue/model/signal.js';
import type { JobPart } from '../../views/job-file.js';
import type { JobView } from '../../views/views.js';
import { CopyButton } from '../parts/copy.js';
import { Time } from '../parts/parts.js';
import { say } from '../parts/toasts.js';
import { BASE, post } from '../state/api.js';
import { unreachable } from '../state/live.js';
import { JsonDialog } from './json-dialog.js';

interface PartProps {
  title: string;
  /** The text that its button copies. */
  copied?: string;
  /** The job and the part of it that its link downloads. */
  of?: JobView;
  part?: JobPart;
  children: ComponentChildren;
}

/** Shows a part of a job under its head. */
export function Part({ title, copied, of: job, part, children }: PartProps) {
  const isCut = part !== undefined && job?.cut.includes(part);
  return (
    <section class="part">
      <h2>
        {title}
        {copied !== undefined && !isCut && (
          <CopyButton text={copied} title={`Copy: ${title}`}>
            Copy
          </CopyButton>
        )}
        {job && part && (copied !== undefined || isCut) && <Download job={job} part={part} />}
      </h2>
      {isCut && <p class="quiet">It is too long to show. This is its start.</p>}
      {children}
    </section>
  );
}

/** Shows a link that saves a part of a job, whole. */
export function Download({ job: { queue, id }, part }: { job: JobView; part: JobPart }) {
  const url = new URL('api/job/file', BASE);
  Object.entries({ queue, id, part }).forEach(([key, value]) => url.searchParams.set(key, value));
  return (
    <a class="copy" href={url.href} download title={`Download: ${part}`}>
      Download
    </a>
  );
}

const SAID: Readonly<Record<SignalOutcome, string>> = {
  delivered: 'The job got the signal, and goes on.',
  kept: 'The signal is kept until the job waits for it.',
  known: 'The job has a signal of that name. Nothing changed.',
};

/** Shows what a job waits for, and the signals that it got. A user with the permission can send the signal. */
export function Waits({ job, changed }: { job: JobView; changed(): void }) {
  const [sending, setSending] = useState<string | null>(null);
  const { queue, id, waits, signals, actions, endedAt } = job;
  const may = endedAt === null && permissionsOf('signal').every((permission) => actions.includes(permission));
  return (
    <Part title="Waits and signals">
      <ol class="log" tabIndex={0} aria-label="Waits and signals">
        {waits.map(({ name, kind, since, until, state }) => (
          <li key={`${kind} ${name}`}>
            <Time at={since} />
            <span>
              {kind === 'sleep' ? 'sleeps' : 'waits for'} <bdi>{name}</bdi>
              <span class="quiet">
                , {state}
                {until !== null && (
                  <>
                    , until <Time at={until} />
                  </>
                )}
              </span>
              {may && kind === 'signal' && state === 'open' && signals.every((signal) => signal.name !== name) && (
                <>
                  {' '}
                  <button
                    type="button"
                    aria-label={`Send the signal ${name}`}
                    disabled={unreachable.value}
                    onClick={() => setSending(name)}
                  >
                    Send
                  </button>
                </>
              )}
            </span>
          </li>
        ))}
        {signals.map(({ name, at }) => (
          <li key={`got ${name}`}>
            <Time at={at} />
            <span>
              got <bdi>{name}</bdi>
            </span>
          </li>
        ))}
      </ol>
      {sending !== null && (
        <JsonDialog
          titleId="signal-title"
          title={
            <>
              Send the signal <bdi>{sending}</bdi>
            </>
          }
          note="The handler gets it where it waits. The first signal of a name stays."
          label="Data, as JSON; empty for none"
          rows={6}
          start=""
          mayBeEmpty
          button="Send the signal"
          send={async (data) => {
            const { outcome } = await post<{ outcome: SignalOutcome }>('jobs/signal', {
              queue,
              id,
              signal: sending,
              data,
            });
            say(SAID[outcome]);
          }}
          close={() => {
            setSending(null);
            changed();
          }}
        />
      )}
    </Part>
  );
}
