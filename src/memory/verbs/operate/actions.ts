// Keeps who did what; see lua/action.
import { ACTIONS_KEPT } from '../../../queue/runtime/bounds.js';
import type { ActionVerbs } from '../../../queue/store/verbs/action-verbs.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { callOf } from '../memory-call.js';

export function actionVerbs(queue: MemoryQueue): ActionVerbs {
  return {
    note: (action) =>
      callOf('actionNote', () => {
        const { actions } = queue;
        const last = actions.at(-1);
        const at = Math.max(queue.now, last?.at.getTime() ?? 0);
        const number = last?.at.getTime() === at ? Number(last.entryId.split('-')[1]) + 1 : 0;
        const entryId = `${at}-${number}`;
        actions.push({ ...action, entryId, at: new Date(at) });
        actions.splice(0, actions.length - ACTIONS_KEPT);
        return entryId;
      }),
    read: (before, limit) =>
      callOf('actionRead', () => {
        const { actions } = queue;
        const end = before === '' ? actions.length : actions.findIndex(({ entryId }) => entryId === before);
        return actions.slice(0, Math.max(0, end)).slice(-limit).toReversed();
      }),
  };
}
