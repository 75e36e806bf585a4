import type { LazyModuleLoader } from '@nestjs/core';

/**
 * Calls a function after each module that the app loads lazily. Nest runs no hook of such a module, so its loader is asked.
 *
 * @param loaded a rejection of it rejects the load
 */
export function watchLazyModules(loader: LazyModuleLoader, loaded: () => Promise<void>): void {
  const load = loader.load.bind(loader);
  loader.load = async (...args) => {
    const ref = await load(...args);
    await loaded();
    return ref;
  };
}
