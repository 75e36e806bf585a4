import { Inject, Injectable, NotFoundException, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import type { Job } from 'nest-job-queue';

/** A practice, the tenant of this app. */
export interface Practice {
  id: string;
  name: string;
  /** The sender of its mail. */
  sender: string;
}

/** All practices, which a real app has in a database. */
@Injectable()
export class Practices {
  private readonly known = new Map<string, Practice>(
    [
      { id: 'north', name: 'Practice North', sender: 'north@example.com' },
      { id: 'south', name: 'Practice South', sender: 'south@example.com' },
    ].map((practice) => [practice.id, practice]),
  );

  find(id: string | undefined): Practice | undefined {
    return id === undefined ? undefined : this.known.get(id);
  }
}

/** The practice of the request or of the job that runs: made once for each. */
@Injectable({ scope: Scope.REQUEST })
export class CurrentPractice {
  constructor(
    @Inject(REQUEST) private readonly request: Job | { headers: Record<string, string | undefined> },
    private readonly practices: Practices,
  ) {}

  get(): Practice {
    const id = 'headers' in this.request ? this.request.headers['x-practice'] : this.request.metadata.practice;
    const practice = this.practices.find(id);
    if (!practice) {
      throw new NotFoundException(`no practice ${id}`);
    }
    return practice;
  }
}
