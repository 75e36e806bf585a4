import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Notice } from './parts.js';

/** Returns a component whose code is loaded only when it is shown. @param what its name in the notices */
export function lazy<Props extends object>(
  what: string,
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => ComponentChildren {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [Shown, setShown] = useState(() => loaded);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      load().then(
        (found) => setShown(() => (loaded = found)),
        () => setFailed(true),
      );
    }, []);
    if (failed) {
      return <Notice title={`${what} could not be loaded. Reload the page.`} kind="problem" />;
    }
    return Shown ? <Shown {...props} /> : <Notice title={`Loading ${what.toLowerCase()}…`} kind="loading" />;
  };
}
