import { useState } from 'preact/hooks';
import type { SharedLimitView } from '../../views/limit-views.js';
import { ask } from '../parts/confirm.js';
import { count, duration, plural, relative } from '../parts/format.js';
import { Notice, Time } from '../parts/parts.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { connection, may, now, overview, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { askPause } from '../steer/ask-pause.js';
import { Field } from '../limits/limit-fields.js';
import { LimitsForm } from '../limits/limits-form.js';
import { sharedChangesOf } from '../limits/limits-of.js';

/** Shows the limits that queues share: who holds each, what waits for it, its rates, and its pause. */
export function SharedLimitsPage() {
  const limits = overview.value?.sharedLimits;
  if (!limits) {
    const away = connection.value === 'away' || connection.value === 'lost';
    return (
      <Notice
        title={away ? 'There is nothing to show yet.' : 'Loading the limits…'}
        kind={away ? 'problem' : 'loading'}
      />
    );
  }
  return (
    <>
      <h1>{limits.length === 0 ? 'No queue shares a limit' : plural(limits.length, 'shared limit')}</h1>
      {limits.length === 0 && (
        <Notice title="No live worker names a limit that queues share.">
          <p>
            Define it by <code>forRoot({'{ limits }'})</code>, and name it on the handlers.
          </p>
        </Notice>
      )}
      <ul class="workers">
        {limits.map((limit) => (
          <Limit key={limit.name} limit={limit} />
        ))}
      </ul>
    </>
  );
}

function Limit({ limit }: { limit: SharedLimitView }) {
  const { name, queues, maxRunning, rates, isSet, running, holders, waiting } = limit;
  return (
    <li class="worker">
      <div class="page-title">
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <Buttons limit={limit} />
      </div>
      <Held limit={limit} />
      <dl class="figures">
        <div>
          <dt>Running</dt>
          <dd>
            {count(running)}
            {maxRunning !== null && ` of ${count(maxRunning)}`}
          </dd>
        </div>
        {rates.map(({ limit: starts, periodMs, burst }) => (
          <div key={periodMs}>
            <dt>Starts in {duration(periodMs)}</dt>
            <dd>
              {count(starts)}
              {burst !== undefined && burst > 1 && `, ${count(burst)} at once`}
            </dd>
          </div>
        ))}
        <div>
          <dt>Its values are</dt>
          <dd>{isSet ? 'set at run time' : 'those of the code'}</dd>
        </div>
      </dl>
      <p class="worker-queues">
        {queues.map((queue) => {
          const held = holders.find((holder) => holder.queue === queue);
          const turn = waiting.indexOf(queue) + 1;
          return (
            <a key={queue} class="tag" href={href(['queue', queue])}>
              <bdi>{queue}</bdi>
              {held && ` ${count(held.permits)} on ${plural(held.workers, 'worker')}`}
              {turn > 0 && `, waits${waiting.length > 1 ? `, turn ${turn}` : ''}`}
            </a>
          );
        })}
        {holders
          .filter(({ queue }) => !queues.includes(queue))
          .map(({ queue, permits }) => (
            <span key={queue} class="tag">
              <bdi>{queue}</bdi> {count(permits)}
            </span>
          ))}
      </p>
    </li>
  );
}

/** Says what holds all its queues back. */
function Held({ limit: { pausedAt, pausedUntil, pausedBy, pauseReason, restsUntil, nextStartAt } }: Shown) {
  return (
    <>
      {pausedAt !== null && (
        <p class="stuck">
          Paused <Time at={pausedAt} />
          {pausedBy !== null && ` by ${pausedBy}`}
          {pauseReason !== null && `: ${pauseReason}`}
          {pausedUntil !== null && (
            <>
              , ends <Time at={pausedUntil} />
            </>
          )}
        </p>
      )}
      {restsUntil !== null && (
        <p class="stuck">
          Rests, because a handler threw a RateLimitedError. It ends <Time at={restsUntil} />.
        </p>
      )}
      {pausedAt === null && restsUntil === null && nextStartAt !== null && (
        <p class="quiet">
          Its rates let the next job start <Time at={nextStartAt} />.
        </p>
      )}
    </>
  );
}

interface Shown {
  limit: SharedLimitView;
}

/** Pauses and resumes a limit, and sets its values. */
function Buttons({ limit }: Shown) {
  const [open, setOpen] = useState(false);
  const { name, queues, pausedAt } = limit;
  const [queue] = queues;
  const turn = pausedAt === null ? 'pause' : 'resume';
  const mayAll = (action: 'shared-limit' | `${typeof turn}-shared-limit`) =>
    queues.every((each) => may(action, each));
  const act = async () => {
    const note = turn === 'pause' ? await askPause(`the limit ${name}`, EFFECT) : await askResume(limit);
    const done =
      note && (await tried(() => post('shared-limits/act', { action: turn, queue, limit: name, ...note })));
    if (done) say(`The limit ${name} ${turn === 'pause' ? 'is paused' : 'continues'}.`);
  };
  return (
    <span class="page-buttons">
      {mayAll('shared-limit') && (
        <button
          type="button"
          disabled={unreachable.value}
          aria-label={`Values of the limit ${name}`}
          onClick={() => setOpen(true)}
        >
          Values
        </button>
      )}
      {mayAll(`${turn}-shared-limit`) && (
        <button
          type="button"
          class={turn === 'resume' ? 'primary' : ''}
          disabled={unreachable.value}
          aria-label={`${turn === 'pause' ? 'Pause' : 'Resume'} the limit ${name}`}
          onClick={() => void act()}
        >
          {turn === 'pause' ? 'Pause' : 'Resume'}
        </button>
      )}
      {open && <ValuesDialog limit={limit} close={() => setOpen(false)} />}
    </span>
  );
}

const EFFECT = 'No job of its queues starts, in the whole fleet.';

/** Asks before a resume that ends a pause with a reason. Returns null if the user decided against it. */
async function askResume({
  name,
  queues,
  pausedAt,
  pausedBy,
  pauseReason,
}: SharedLimitView): Promise<object | null> {
  if (pauseReason === null) {
    return {};
  }
  const by = pausedBy === null ? '' : ` by ${pausedBy}`;
  const body = `Paused${by} ${relative(pausedAt!, now.value)}: “${pauseReason}”. The jobs of ${queues.join(', ')} start.`;
  return (await ask({ title: `Resume ${name}?`, body, verb: 'Resume', destroys: false })) ? {} : null;
}

/** Shows, sets and clears the values of a limit. */
function ValuesDialog({ limit, close }: Shown & { close(): void }) {
  const [shown] = useState(limit); // others may change the values while the dialog is open
  const { name, queues, maxRunning, rates, isSet } = shown;
  const isPaced = limit.restsUntil !== null;
  return (
    <LimitsForm
      titleId="shared-limit-title"
      name={name}
      clearing={
        isSet || isPaced
          ? { button: isSet ? 'Clear what was set here' : 'End its rest', then: 'those of the code again' }
          : null
      }
      limitsOf={(form) => sharedChangesOf(shown, form)}
      store={(limits) => post('shared-limits/set', { queue: queues[0], limit: name, limits })}
      close={close}
    >
      <h2 id="shared-limit-title">
        Values of the limit <bdi>{name}</bdi>
      </h2>
      <p class="quiet">
        They hold for all its queues in the whole fleet, and outlive deploys. An empty field is no limit. A lower
        limit ends no running job.
      </p>
      <div class="field-row">
        <Field label="Jobs at once" name="maxRunning" value={maxRunning ?? undefined} />
      </div>
      {[...rates, undefined].map((rate, i) => (
        <div key={i} class="field-row">
          <Field label={i === 0 ? 'Starts' : 'And starts'} name="limit" value={rate?.limit} />
          <Field label="per seconds" name="seconds" step="0.001" value={rate && rate.periodMs / 1_000} />
          <Field label="Burst" name="burst" value={rate?.burst} />
        </div>
      ))}
    </LimitsForm>
  );
}
