// A queue whose jobs wait in the group `g`.
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

export async function seededGroup(...ids: string[]): Promise<TestQueue> {
  const q = testQueue();
  for (const id of ids) {
    await q.add(id, { group: 'g' });
  }
  return q;
}

export async function theGroup(q: TestQueue) {
  const [group] = await q.run(q.scripts.groups.named({ names: ['g'] }));
  return group!;
}
