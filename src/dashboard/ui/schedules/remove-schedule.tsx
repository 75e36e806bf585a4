import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, unreachable } from '../state/live.js';

interface Props {
  queue: string;
  id: string;
  removed(): void;
}

/** Removes a schedule, if the viewer may and types its id. */
export function RemoveSchedule({ queue, id, removed }: Props) {
  if (!may('remove-schedule', queue)) {
    return null;
  }
  const remove = async () => {
    const sure = await ask({
      title: `Remove the schedule ${id}?`,
      body: 'It enqueues nothing more, and its last runs are forgotten. The jobs that it enqueued stay.',
      verb: 'Remove the schedule',
      typed: id,
      destroys: true,
    });
    if (sure && (await tried(() => post('schedules/act', { action: 'remove', queue, id })))) {
      say(`${id} is removed.`);
      removed();
    }
  };
  return (
    <button
      type="button"
      class="danger-quiet"
      disabled={unreachable.value}
      onClick={() => void remove()}
      aria-label={`Remove ${id}`}
    >
      Remove
    </button>
  );
}
