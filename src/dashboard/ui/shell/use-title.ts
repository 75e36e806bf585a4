import { useSignalEffect } from '@preact/signals';
import { overview, session } from '../state/live.js';
import { route } from '../state/route.js';

/** Names the page in the browser's tab, with how many queues need a look. */
export function useTitle(): void {
  useSignalEffect(() => {
    const server = session.value?.servers.find(({ isHere }) => isHere);
    const title = `${server ? `${server.name} · ` : ''}${session.value?.title ?? 'Queues'}`;
    const [page, first, second] = route.value.parts;
    const named = page === 'job' || page === 'batch' ? second : page === 'queue' ? first : page;
    const critical = overview.value?.queues.filter(({ verdict }) => verdict.severity === 'critical').length ?? 0;
    document.title = `${critical > 0 ? `(${critical}) ` : ''}${named ? `${named} · ` : ''}${title}`;
  });
}
