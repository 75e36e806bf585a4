import { useState } from 'preact/hooks';
import type { QueueView } from '../../views/views.js';
import { post } from '../state/api.js';
import { LimitFields } from './limit-fields.js';
import { LimitsForm } from './limits-form.js';
import { changesOf, figuresOf } from './limits-of.js';

/** Shows, sets and clears the limits of a queue in the whole fleet. */
export function LimitsDialog({ queue, close }: { queue: QueueView; close(): void }) {
  const { name, limitsSet } = queue;
  const [shown] = useState(limitsSet ?? {}); // others may change the limits while the dialog is open
  const isSetHere = limitsSet?.source === 'set';
  return (
    <LimitsForm
      titleId="limits-title"
      name={name}
      clearing={isSetHere ? { button: 'Clear what was set here', then: 'those of its configuration again' } : null}
      limitsOf={(form) => changesOf(shown, figuresOf(form))}
      store={(limits) => post('queue/limits', { queue: name, limits })}
      close={close}
    >
      <h2 id="limits-title">Limits of {name}</h2>
      <p class="quiet">
        They hold for the whole fleet and outlive deploys. An empty field is no limit. A lower limit ends no running
        job.
      </p>
      <LimitFields {...shown} />
    </LimitsForm>
  );
}
