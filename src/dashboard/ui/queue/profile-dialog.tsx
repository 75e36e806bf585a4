import { useEffect, useRef } from 'preact/hooks';
import type { ProfileKind, ProfileRecord } from '../../../queue/model/profile.js';
import { count } from '../parts/format.js';
import { Time } from '../parts/parts.js';
import { tried } from '../parts/toasts.js';
import { BASE, post } from '../state/api.js';
import { overview, unreachable } from '../state/live.js';
import { useLoaded } from '../state/use-loaded.js';

/** A record as JSON has it. */
type Shown = Omit<ProfileRecord, 'askedAt'> & { askedAt: string };

interface ProfileDialogProps {
  queue: string;
  close(): void;
}

/** Asks for the profile of the next job, and downloads the last one. */
export function ProfileDialog({ queue, close }: ProfileDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { data, reload } = useLoaded<{ profile: Shown | null }>('queue/profile', { queue }, overview.value);
  useEffect(() => dialog.current?.showModal(), []);
  const ask = async (kind: ProfileKind) => {
    await tried(() => post('queue/profile', { queue, kind }));
    reload();
  };
  const profile = data?.profile;
  const isOpen = profile?.state === 'asked' || profile?.state === 'running';
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="profile-title" onClose={close}>
      <h2 id="profile-title">Profile the next job</h2>
      <p>V8 measures one attempt in its worker, at most 30 s: which functions take the time, or the memory.</p>
      {profile && <Last queue={queue} profile={profile} />}
      <div class="dialog-buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
        <button type="button" disabled={unreachable.value || isOpen} onClick={() => void ask('heap')}>
          Measure memory
        </button>
        <button
          type="button"
          class="primary"
          disabled={unreachable.value || isOpen}
          onClick={() => void ask('cpu')}
        >
          Measure time
        </button>
      </div>
    </dialog>
  );
}

function Last({ queue, profile }: { queue: string; profile: Shown }) {
  const { state, askedAt, jobId, attempt, bytes, reason } = profile;
  const file = new URL(`api/queue/profile/file?queue=${encodeURIComponent(queue)}`, BASE);
  return (
    <p role="status">
      Asked for <Time at={Date.parse(askedAt)} />.{' '}
      {state === 'asked' && 'Workers learn of it within 20 s, and measure the next job.'}
      {state === 'running' && `Job ${jobId} is measured.`}
      {state === 'failed' && reason}
      {state === 'done' && (
        <>
          Job <bdi>{jobId}</bdi>, attempt {attempt}: {count(bytes)} bytes.{' '}
          <a href={file.href} download>
            Download
          </a>{' '}
          it for Chrome or speedscope. It is kept for an hour.
        </>
      )}
    </p>
  );
}
