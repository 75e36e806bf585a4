import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { unreadableView } from '../../live/verdict-view.js';
import { matchSchema, searchText } from '../../search/job-match.js';
import { JobSearch } from '../../search/job-search.js';
import { HiddenParts } from '../../security/hidden-parts.js';
import { Permissions } from '../../security/permissions.js';
import { ShownQueues } from '../../shown-queues.js';
import type { EverywherePage } from '../../views/search-views.js';
import type { CountPage, SearchPage } from '../../views/views.js';
import { cursor, queueName, stateSchema } from '../known-queue.js';
import { Reads, Routes } from '../route.js';
import type { Call, QueueCall } from '../route-runner.js';

const searchSchema = matchSchema.extend({ queue: queueName, state: stateSchema, cursor });
const everywhereSchema = z.object({ text: searchText, cursor });

/** Searches jobs slice by slice: of one state, or of all queues and states. */
@Injectable()
export class SearchController extends Routes {
  constructor(
    private readonly jobSearch: JobSearch,
    private readonly permissions: Permissions,
    private readonly queues: ShownQueues,
  ) {
    super();
  }

  @Reads('api/search', searchSchema)
  async search(
    { queue: _name, state, cursor: from, ...match }: z.output<typeof searchSchema>,
    { queue, request }: QueueCall,
  ): Promise<SearchPage> {
    const page = await this.jobSearch.search(queue, state, match, from ?? null);
    return { ...page, jobs: await new HiddenParts(this.permissions, request).rows(page.jobs) };
  }

  /** Searches all states of all queues that the viewer may see. */
  @Reads('api/search/all', everywhereSchema)
  async everywhere(
    { text, cursor: from }: z.output<typeof everywhereSchema>,
    { request }: Call,
  ): Promise<EverywherePage> {
    await this.queues.look();
    const visible = await this.permissions.visibleQueues(request, this.queues.names());
    const page = await this.jobSearch.everywhere(visible, text, from ?? null);
    return {
      ...page,
      jobs: await new HiddenParts(this.permissions, request).rows(page.jobs),
      unreadable: page.unreadable.map((verdict) => unreadableView(verdict, this.queues.isOther(verdict.queue))),
    };
  }

  /** Counts the matches of a slice, so that an action on all of them can name their number. */
  @Reads('api/search/count', searchSchema)
  async count(
    { queue: _name, state, cursor: from, ...match }: z.output<typeof searchSchema>,
    { queue, request }: QueueCall,
  ): Promise<CountPage> {
    const { jobs, ...page } = await this.jobSearch.search(queue, state, match, from ?? null, Infinity);
    return { ...page, found: (await this.permissions.visible(request, jobs)).length };
  }
}
