import { useEffect, useRef, useState } from 'preact/hooks';
import { get, Problem } from './api.js';

type Query = Record<string, string | number | null | undefined>;

export interface Loaded<Reply> {
  data: Reply | null;
  problem: Problem | null;
  reload(): void;
}

/**
 * Loads a response of the server, and again when `version` changes. The previous one stays visible while it loads, and
 * while the server is away.
 */
export function useLoaded<Reply>(path: string | null, query: Query, version: unknown = 0): Loaded<Reply> {
  const key = path === null ? '' : JSON.stringify([path, query]);
  const [state, setState] = useState<{ key: string; data: Reply | null; problem: Problem | null }>({
    key: '',
    data: null,
    problem: null,
  });
  const [again, setAgain] = useState(0);
  const stop = useRef<AbortController | undefined>(undefined);
  /** Asked for while an answer was still in flight: an answer that takes longer than `version` lasts is waited for. */
  const late = useRef(false);
  useEffect(
    () => () => {
      stop.current?.abort();
      stop.current = undefined;
      late.current = false;
    },
    [key],
  );
  useEffect(() => {
    if (path === null) return;
    if (stop.current) {
      late.current = true;
      return;
    }
    const mine = new AbortController();
    stop.current = mine;
    const load = async () => {
      let data: Reply | null = null;
      let problem: Problem | null = null;
      try {
        data = await get<Reply>(path, query, mine.signal);
      } catch (error) {
        problem = error as Problem;
      }
      if (mine.signal.aborted) return;
      stop.current = undefined;
      setState((before) => ({ key, data: problem && before.key === key ? before.data : data, problem }));
      if (!late.current) return;
      late.current = false;
      setAgain((n) => n + 1);
    };
    void load();
  }, [key, version, again]);
  const current = state.key === key;
  return {
    data: current ? state.data : null,
    problem: current ? state.problem : null,
    reload: () => setAgain((n) => n + 1),
  };
}
