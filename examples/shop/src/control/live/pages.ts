import type { JobRow } from './job-row.js';

export const LISTS = ['pending', 'processing', 'completed', 'failed'] as const;
export type ListName = (typeof LISTS)[number];
/** The first row of each of the four lists. */
export type Offsets = Record<ListName, number>;

export const FIRST_PAGES: Offsets = { pending: 0, processing: 0, completed: 0, failed: 0 };

export interface JobPage {
  offset: number;
  total: number;
  jobs: JobRow[];
}

type ReadPage = (name: ListName, offset: number) => Promise<JobPage>;

/** Pages of the lists at one moment, each read once, for however many who look at it. */
export class Pages {
  private readonly read = new Map<string, Promise<JobPage>>();

  constructor(private readonly readPage: ReadPage) {}

  async at(offsets: Offsets): Promise<Record<ListName, JobPage>> {
    const pages = await Promise.all(
      LISTS.map(async (name) => [name, await this.page(name, offsets[name])] as const),
    );
    return Object.fromEntries(pages) as Record<ListName, JobPage>;
  }

  private page(name: ListName, offset: number): Promise<JobPage> {
    const key = `${name} ${offset}`;
    let page = this.read.get(key);
    if (!page) this.read.set(key, (page = this.readPage(name, offset)));
    return page;
  }
}
