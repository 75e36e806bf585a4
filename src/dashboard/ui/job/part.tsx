import type { ComponentChildren } from 'preact';
import type { JobPart } from '../../views/job-file.js';
import type { JobView } from '../../views/views.js';
import { CopyButton } from '../parts/copy.js';
import { BASE } from '../state/api.js';

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
