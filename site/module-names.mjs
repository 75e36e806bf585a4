// A plugin of typedoc: names modules as users import them, not as their files.
import { Converter } from 'typedoc';

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const { children = [] } = project;
    for (const module of children) {
      module.name = module.name === 'index' ? 'nest-job-queue' : `nest-job-queue/${module.name.replace('-', '/')}`;
    }
  });
}
