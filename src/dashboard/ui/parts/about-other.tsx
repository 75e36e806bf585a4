import { queues, session } from '../state/live.js';

/** Shows why a queue of another app has no actions, or no content, here. */
export function AboutOther({ queue: name }: { queue: string }) {
  const queue = queues.value.find((each) => each.name === name);
  if (!queue?.isOther) {
    return null;
  }
  const reach = session.value?.othersReadOnly
    ? 'so it only shows it. Act in the app of the queue.'
    : 'so its payloads and schedules cannot be edited here.';
  const content = 'Payloads, results and errors are hidden until a worker of the queue says what to show.';
  return (
    <p class="quiet">
      This app does not know the queue, {reach} {queue.isHidden && content}
    </p>
  );
}
