import { useState } from 'preact/hooks';
import type { SharedKeysView, SharedKeyView, SharedLimitView } from '../../views/views.js';
import { ask } from '../parts/confirm.js';
import { count, duration, plural, relative } from '../parts/format.js';
import { Notice, ScrolledTable, Time } from '../parts/parts.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { connection, may, now, overview, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { useLoaded } from '../state/use-loaded.js';
import { askPause } from '../steer/ask-pause.js';
import { Field, LimitsForm } from '../limits/limits-form.js';
import { sharedChangesOf } from '../limits/limits-of.js';

const REFRESH_MS = 5_000;

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
  const { name, queues, rates, isSet, holders, waiting, hasKeys } = limit;
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
          <dt>{hasKeys ? 'Running without a key' : 'Running'}</dt>
          <dd>{runningOf(limit)}</dd>
        </div>
        {rates.map((rate) => (
          <div key={rate.periodMs}>
            <dt>Starts in {duration(rate.periodMs)}</dt>
            <dd>{startsOf(rate)}</dd>
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
      {hasKeys && <Keys limit={limit} />}
    </li>
  );
}

function runningOf({ running, maxRunning }: Pick<SharedLimitView, 'running' | 'maxRunning'>): string {
  return maxRunning === null ? count(running) : `${count(running)} of ${count(maxRunning)}`;
}

function startsOf({ limit, burst = 1 }: SharedLimitView['rates'][number]): string {
  return burst > 1 ? `${count(limit)}, ${count(burst)} at once` : count(limit);
}

/** Shows the keys of a limit that were used last. */
function Keys({ limit }: { limit: SharedLimitView }) {
  const { name, queues, waitingKeys } = limit;
  const asked = { queue: queues[0]!, limit: name };
  const tick = Math.floor(now.value / REFRESH_MS);
  const { data, problem, reload } = useLoaded<SharedKeysView>('shared-limits/keys', asked, tick);
  if (!data) {
    return problem ? <p class="stuck">{problem.message}</p> : <p class="quiet">Loading its keys…</p>;
  }
  if (data.keys.length === 0) {
    return <p class="quiet">Each key has the limit for itself. You may see none that was used in the last day.</p>;
  }
  return (
    <>
      <p class="quiet">
        Each key has the limit for itself{waitingKeys && `; ${waitingKeys}`}.{' '}
        {data.hasMore ? `The ${count(data.keys.length)} that were used last:` : 'Those of the last day:'}
      </p>
      {data.unread.length > 0 && (
        <p class="stuck">
          {plural(data.unread.length, 'key')} could not be read, because Redis gives no reply:{' '}
          <bdi>{data.unread.join(', ')}</bdi>
        </p>
      )}
      <ScrolledTable
        label={`Keys of the limit ${name}`}
        kind="group-table"
        columns={['Key', 'Running', 'Starts', 'Values']}
        numbers={['Running']}
        acts
      >
        {data.keys.map((key) => (
          <KeyRow key={key.name} limit={limit} ofKey={key} changed={reload} />
        ))}
      </ScrolledTable>
    </>
  );
}

function KeyRow({ limit, ofKey, changed }: Shown & { ofKey: SharedKeyView; changed(): void }) {
  const { name, rates, isSet, isAwaited } = ofKey;
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi> {isAwaited && <span class="tag">jobs wait</span>}
        <Held limit={ofKey} />
      </th>
      <td class="number" data-label="Running">
        {runningOf(ofKey)}
      </td>
      <td class="group-limits" data-label="Starts">
        {rates.length === 0
          ? 'no rate'
          : rates.map((rate) => `${startsOf(rate)} in ${duration(rate.periodMs)}`).join('; ')}
      </td>
      <td class="group-limits" data-label="Values">
        {isSet ? 'set for it' : 'those of the limit'}
      </td>
      <td class="group-buttons">
        <Buttons limit={limit} ofKey={ofKey} changed={changed} />
      </td>
    </tr>
  );
}

/** Says what holds the jobs of a limit back, or those of one key. */
function Held({
  limit: { pausedAt, pausedUntil, pausedBy, pauseReason, restsUntil, nextStartAt },
}: {
  limit: Figures;
}) {
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
  /** One key of the limit. Absent: the limit itself. */
  ofKey?: SharedKeyView;
}

/** What a limit and one of its keys have both. */
type Figures = Omit<SharedKeyView, 'isAwaited'>;

/** Returns what the server calls it, and people. */
function subjectOf({ limit: { name, queues }, ofKey }: Shown) {
  const subject = { queue: queues[0], limit: name, ...(ofKey && { key: ofKey.name }) };
  return { subject, name: ofKey ? `${name} of ${ofKey.name}` : name };
}

/** Pauses and resumes a limit or one of its keys, and sets the values. */
function Buttons({ limit, ofKey, changed }: Shown & { changed?(): void }) {
  const [open, setOpen] = useState(false);
  const { queues } = limit;
  const { pausedAt } = ofKey ?? limit;
  const { subject, name } = subjectOf({ limit, ...(ofKey && { ofKey }) });
  const turn = pausedAt === null ? 'pause' : 'resume';
  const mayAll = (action: 'shared-limit' | `${typeof turn}-shared-limit`) =>
    queues.every((each) => may(action, each));
  const act = async () => {
    const note =
      turn === 'pause'
        ? await askPause(`the limit ${name}`, ofKey ? EFFECT_OF_KEY : EFFECT)
        : await askResume(name, queues, ofKey ?? limit);
    const done = note && (await tried(() => post('shared-limits/act', { action: turn, ...subject, ...note })));
    if (done) {
      say(`The limit ${name} ${turn === 'pause' ? 'is paused' : 'continues'}.`);
      changed?.();
    }
  };
  return (
    <span class={ofKey ? 'group-actions' : 'page-buttons'}>
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
      {open && (
        <ValuesDialog
          limit={limit}
          {...(ofKey && { ofKey })}
          close={() => {
            setOpen(false);
            changed?.();
          }}
        />
      )}
    </span>
  );
}

const EFFECT = 'No job of its queues starts, in the whole fleet.';
const EFFECT_OF_KEY = 'No job of this key starts, in all queues of the limit.';

/** Asks before a resume that ends a pause with a reason. Returns null if the user decided against it. */
async function askResume(
  name: string,
  queues: readonly string[],
  { pausedAt, pausedBy, pauseReason }: Figures,
): Promise<object | null> {
  if (pauseReason === null) {
    return {};
  }
  const by = pausedBy === null ? '' : ` by ${pausedBy}`;
  const body = `Paused${by} ${relative(pausedAt!, now.value)}: “${pauseReason}”. The jobs of ${queues.join(', ')} start.`;
  return (await ask({ title: `Resume ${name}?`, body, verb: 'Resume', destroys: false })) ? {} : null;
}

/** Shows, sets and clears the values of a limit. */
function ValuesDialog({ limit, ofKey, close }: Shown & { close(): void }) {
  const [shown] = useState<Figures>(ofKey ?? limit); // others may change the values while the dialog is open
  const { maxRunning, rates, isSet } = shown;
  const { subject, name } = subjectOf({ limit, ...(ofKey && { ofKey }) });
  const isPaced = (ofKey ?? limit).restsUntil !== null;
  return (
    <LimitsForm
      titleId="shared-limit-title"
      name={name}
      clearing={
        isSet || isPaced
          ? {
              button: isSet ? 'Clear what was set here' : 'End its rest',
              then: ofKey ? 'those of the limit again' : 'those of the code again',
            }
          : null
      }
      limitsOf={(form) => sharedChangesOf(shown, form)}
      store={(limits) => post('shared-limits/set', { ...subject, limits })}
      close={close}
    >
      <h2 id="shared-limit-title">
        Values of the limit <bdi>{name}</bdi>
      </h2>
      <p class="quiet">
        {ofKey
          ? 'They hold for this key alone, in all queues, until 30 days after its last use.'
          : 'They hold for all its queues in the whole fleet, and outlive deploys.'}{' '}
        An empty field is no limit. A lower limit ends no running job.
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
