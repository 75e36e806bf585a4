import { useState } from 'preact/hooks';
import { asCommand } from '../../../inspect/words.js';
import type { State, VerdictView } from '../../views/views.js';
import { LimitsDialog } from '../limits/limits-form.js';
import { CopyButton } from '../parts/copy.js';
import { may, queues, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { pauseOrResume } from './pause-button.js';

const JOBS_IN_WORDS: Partial<Record<State, string>> = {
  failed: 'Read the errors',
  scheduled: 'Read their errors',
  processing: 'Look at what runs',
};

/** Offers the next step of a verdict: a link to its place, a button, or a command to copy. */
export function RemedyAction({
  verdict: { queue = '', remedyAt },
}: {
  verdict: Pick<VerdictView, 'queue' | 'remedyAt'>;
}) {
  switch (remedyAt?.at) {
    case undefined:
      return null;
    case 'workers':
      return <a href={href(['workers'])}>Look at the workers</a>;
    case 'groups':
      return <a href={href(['queue', queue], { view: 'groups' })}>Look at the groups</a>;
    case 'schedules':
      return <a href={href(['recurring'])}>Look at the schedules</a>;
    case 'outbox':
      return <a href={href(['outbox'])}>Look at its rows</a>;
    case 'job':
      return <a href={href(['job', queue, remedyAt.id])}>Look at the job</a>;
    case 'batch':
      return <a href={href(['batch', queue, remedyAt.id])}>Look at the batch</a>;
    case 'jobs': {
      const { state, search } = remedyAt;
      return (
        <a href={href(['queue', queue], { state, q: search })}>{JOBS_IN_WORDS[state] ?? 'Look at these jobs'}</a>
      );
    }
    case 'resume':
      return <ResumeAction name={queue} />;
    case 'limits':
      return <LimitsAction name={queue} />;
    case 'shared-limit':
      return <a href={href(['limits'])}>Look at the limit</a>;
    case 'command':
      return <Command text={remedyAt.command} />;
  }
}

function ResumeAction({ name }: { name: string }) {
  const queue = queues.value.find((each) => each.name === name);
  return queue && may('resume', name) ? (
    <button type="button" class="link" disabled={unreachable.value} onClick={() => void pauseOrResume(queue)}>
      Resume
    </button>
  ) : (
    <Command text={asCommand('resume', name)} />
  );
}

function LimitsAction({ name }: { name: string }) {
  const [open, setOpen] = useState(false);
  const queue = queues.value.find((each) => each.name === name);
  return queue && may('limits', name) ? (
    <>
      <button type="button" class="link" disabled={unreachable.value} onClick={() => setOpen(true)}>
        Change the limits
      </button>
      {open && <LimitsDialog queue={queue} close={() => setOpen(false)} />}
    </>
  ) : (
    <Command text={asCommand('limits', name)} />
  );
}

/** Shows a command that a click copies. */
function Command({ text }: { text: string }) {
  return (
    <CopyButton text={text} title="Copy this command">
      <bdi>{text}</bdi>
    </CopyButton>
  );
}
