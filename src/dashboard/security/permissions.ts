import { ForbiddenException, Inject, Injectable } from '@nestjs/common';
import { show } from '../../queue/errors/show.js';
import { ACTIONS, encodesPayloads } from '../../queue/model/actions.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { startOf } from '../../queue/runtime/cut.js';
import { FAILURE_PREFIX } from '../../queue/validation/names.js';
import {
  DASHBOARD_ACTIONS,
  type DashboardAction,
  type DashboardRequest,
  type DashboardSubject,
  type ResolvedDashboardOptions,
} from '../dashboard-options.js';
import { ShownQueues } from '../shown-queues.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';

/** A permission that a route needs. */
export interface Need extends DashboardSubject {
  action: DashboardAction;
  /** The jobs of the action. `can` is asked for each of them. */
  ids?: readonly string[];
  /** True if the action changes jobs whose ids are unknown, so that `can` cannot be asked for each. */
  isBlind?: boolean;
}

/** Returns the permissions of a request, from `readOnly`, `otherQueues` and `can`. */
@Injectable()
export class Permissions {
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly queues: ShownQueues,
  ) {}

  /** True if every request may do everything, so that nobody need be asked. */
  get areOpen(): boolean {
    const { can, readOnly, otherQueues } = this.options;
    return !can && !readOnly && otherQueues !== true;
  }

  async allows(
    action: DashboardAction,
    request: DashboardRequest,
    subject: DashboardSubject = {},
  ): Promise<boolean> {
    return (await this.ask(action, request, subject)).isAllowed;
  }

  /** Returns whether the request may see every job of a queue, because `can` does not look at the job. */
  async seesAll(request: DashboardRequest, queue: string): Promise<boolean> {
    const { isAllowed, isById } = await this.ask('view', request, { queue });
    return isAllowed && !isById;
  }

  /** Returns the ids for which the action is allowed. Asks `can` once if its answer cannot depend on the id. */
  async allowedIds(
    action: DashboardAction,
    request: DashboardRequest,
    subject: DashboardSubject,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const [first, ...others] = new Set(ids);
    if (first === undefined) {
      return new Set();
    }
    const { isAllowed, isById } = await this.ask(action, request, { ...subject, id: first });
    if (!isById) {
      return new Set(isAllowed ? ids : []);
    }
    const answers = await Promise.all(others.map((id) => this.allows(action, request, { ...subject, id })));
    return new Set([...(isAllowed ? [first] : []), ...others.filter((_, i) => answers[i])]);
  }

  /** Returns the queues that the request may see. */
  async visibleQueues(
    request: DashboardRequest,
    names: readonly string[],
    about: Omit<DashboardSubject, 'queue'> = {},
  ): Promise<string[]> {
    const seen = await Promise.all(names.map((queue) => this.allows('view', request, { ...about, queue })));
    return names.filter((_, i) => seen[i]);
  }

  /** Returns the jobs that the request may see. */
  async visible<Job extends { queue: string; id: string }>(
    request: DashboardRequest,
    jobs: readonly Job[],
  ): Promise<Job[]> {
    const allowed = new Map<string, ReadonlySet<string>>();
    for (const name of new Set(jobs.map(({ queue }) => queue))) {
      const ids = jobs.filter(({ queue }) => queue === name).map(({ id }) => id);
      allowed.set(name, await this.allowedIds('view', request, { queue: name }, ids));
    }
    return jobs.filter(({ queue, id }) => allowed.get(queue)!.has(id));
  }

  /** @throws ForbiddenException */
  async require(request: DashboardRequest, { action, ids, isBlind = false, ...subject }: Need): Promise<void> {
    if (ids) {
      const allowed = await this.allowedIds(action, request, subject, ids);
      const refused = ids.find((id) => !allowed.has(id));
      if (refused !== undefined) {
        throw this.refusal(
          action,
          subject,
          allowed.size > 0 ? ` The job ${show(refused)} is not yours to change.` : '',
        );
      }
      return;
    }
    const { isAllowed, isById } = await this.ask(action, request, subject);
    if (!isAllowed) {
      throw this.refusal(action, subject);
    }
    if (isBlind && isById) {
      throw this.refusal(
        action,
        subject,
        ' Permissions depend on the job, and this action cannot ask for each one.',
      );
    }
  }

  /** Returns every action that the request may do somewhere, for the page to show. */
  async actions(request: DashboardRequest, subject: DashboardSubject = {}): Promise<DashboardAction[]> {
    const allowed = await Promise.all(DASHBOARD_ACTIONS.map((action) => this.allows(action, request, subject)));
    return DASHBOARD_ACTIONS.filter((_, i) => allowed[i]);
  }

  /**
   * Returns who sends the request, for the action log.
   *
   * @throws TypeError if the option `user` returns no text
   */
  userOf(request: DashboardRequest): string {
    const named: unknown = this.options.user?.(request) ?? nameOf(request.user);
    const user = named ?? request.socket?.remoteAddress ?? 'unknown';
    if (typeof user !== 'string' && typeof user !== 'number') {
      throw new TypeError(`The option "user" of the dashboard: expected text or undefined, found ${show(user)}.`);
    }
    return startOf(String(user), 200);
  }

  private async ask(
    action: DashboardAction,
    request: DashboardRequest,
    about: DashboardSubject,
  ): Promise<{ isAllowed: boolean; isById: boolean }> {
    const { readOnly, can } = this.options;
    if (action !== 'view' && (readOnly || this.otherRefusal(action, about) !== undefined)) {
      return { isAllowed: false, isById: false };
    }
    const { subject, isIdRead } = watchedSubject(ofWhole(about));
    const isAllowed = can ? await can(action, request, subject) : true;
    const isById = isIdRead();
    const told = action === 'view' && isById && isAllowed ? toldJobOf(about.id) : undefined;
    return told === undefined ? { isAllowed, isById } : this.ask(action, request, { ...about, id: told });
  }

  private refusal(action: DashboardAction, subject: DashboardSubject, reason = ''): ForbiddenException {
    return new ForbiddenException(
      this.options.readOnly && action !== 'view'
        ? 'This dashboard is read-only.'
        : (this.otherRefusal(action, subject) ??
            `You may not ${action === 'view' ? 'look' : ACTIONS[action].permission.may} here.${reason}`),
    );
  }

  /** Returns why an action on a queue of another app is refused; undefined where it is not. */
  private otherRefusal(action: DashboardAction, { queue }: DashboardSubject): string | undefined {
    const { otherQueues } = this.options;
    if (action === 'view' || otherQueues === false || queue === undefined || !this.queues.isOther(queue)) {
      return undefined;
    }
    const why = `This app does not know the queue ${show(queue)}`;
    if (encodesPayloads(action)) {
      return `${why}, so it cannot encode its payloads. Do it in the dashboard of the app that runs the queue.`;
    }
    return otherQueues === 'operate'
      ? undefined
      : `${why}, so the dashboard only shows it. To change it here, set the dashboard's option otherQueues: 'operate'.`;
  }
}

/** Returns the subject with the queue of a shard in its place. An app names queues only. */
function ofWhole({ queue, ...subject }: DashboardSubject): DashboardSubject {
  return queue === undefined ? subject : { ...subject, queue: wholeOfShard(queue) };
}

/** Returns the id of the job whose failure a failure job tells, because it quotes that job. */
function toldJobOf(id: string | undefined): string | undefined {
  return id?.startsWith(FAILURE_PREFIX) ? id.slice(FAILURE_PREFIX.length, id.lastIndexOf(':')) : undefined;
}

function nameOf(user: unknown): string | undefined {
  if (typeof user === 'string') {
    return user;
  }
  const fields = (user ?? {}) as Record<string, unknown>;
  const named = ['email', 'username', 'name', 'id'].map((field) => fields[field]);
  const found = named.find((value) => typeof value === 'string' || typeof value === 'number');
  return found === undefined ? undefined : String(found);
}

/** A subject for `can`, and whether its `id` was read. */
interface WatchedSubject {
  subject: DashboardSubject;
  isIdRead(): boolean;
}

/** Returns a copy of the subject that notices reads of its `id`, also of a missing one. */
function watchedSubject(subject: DashboardSubject): WatchedSubject {
  let isRead = false;
  const noticed = <Result>(isId: boolean, result: Result): Result => {
    isRead ||= isId;
    return result;
  };
  const watched = new Proxy(
    { ...subject },
    {
      get: (target, key) => noticed(key === 'id', Reflect.get(target, key)),
      has: (target, key) => noticed(key === 'id', Reflect.has(target, key)),
      ownKeys: (target) => noticed(true, Reflect.ownKeys(target)),
      getOwnPropertyDescriptor: (target, key) =>
        noticed(key === 'id', Reflect.getOwnPropertyDescriptor(target, key)),
    },
  );
  return { subject: watched, isIdRead: () => isRead };
}
