import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Injectable, NotFoundException } from '@nestjs/common';
import { dataFolder } from './own-folder.js';

/**
 * Stores the output of jobs as files in a folder that all processes of this run share. A bucket would do too. The file
 * has the job's id as its name, so a job that runs twice overwrites it.
 */
@Injectable()
export class Storage {
  private readonly root = dataFolder();

  async write(folder: string, name: string, content: string | Uint8Array): Promise<void> {
    const path = this.path(folder, name);
    await mkdir(join(this.root, folder), { recursive: true, mode: 0o700 });
    // Writes under another name first, so that no reader gets half a file.
    const draft = `${path}.${process.pid}.tmp`;
    await writeFile(draft, content);
    await rename(draft, path);
  }

  /** @throws NotFoundException */
  async read(folder: string, name: string): Promise<Buffer<ArrayBuffer>> {
    try {
      return await readFile(this.path(folder, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new NotFoundException(`/${folder} has nothing of this id; its job may not have run yet.`);
    }
  }

  /** Returns the newest 50 names of a folder, newest first. */
  async list(folder: string): Promise<string[]> {
    const names = await readdir(join(this.root, folder)).catch(() => []);
    const files = await Promise.all(
      names
        .filter((name) => !name.endsWith('.tmp'))
        .map(async (name) => ({ name, changedAt: (await stat(join(this.root, folder, name))).mtimeMs })),
    );
    return files
      .toSorted((a, b) => b.changedAt - a.changedAt)
      .slice(0, 50)
      .map(({ name }) => name);
  }

  /** Deletes the output of the page's jobs. Other folders stay, because `SHOP_DATA` may hold other files. */
  async clear(): Promise<void> {
    const folders = ['mails', 'webhooks', 'thumbnails', 'invoices'];
    await Promise.all(folders.map((folder) => rm(join(this.root, folder), { recursive: true, force: true })));
  }

  private path(folder: string, name: string): string {
    // The name comes out of a URL: it must not lead to another folder.
    if (!/^[\w-]+\.[a-z]+$/.test(name)) {
      throw new NotFoundException(`/${folder} has nothing of this id.`);
    }
    return join(this.root, folder, name);
  }
}
