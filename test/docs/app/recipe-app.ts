// The apps of the pages in docs/recipes, each started as written.
import type { AddressInfo } from 'node:net';
import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueService } from 'nest-job-queue';
import { loadExample } from '../example.js';

export type Recipe = Record<string, Type> & { AppModule: Type };

/** A running app of a page. */
export interface RecipeApp<Exports = Recipe> {
  app: INestApplication;
  jobs: JobQueueService;
  url: string;
  exports: Exports;
  /** Returns the provider of an exported class. */
  get(name: string): InstanceType<Type>;
}

/** Starts the app of a page on the Redis of REDIS_URL. */
export async function startRecipe<Exports = Recipe>(page: string): Promise<RecipeApp<Exports>> {
  const recipe = await loadExample<Recipe>(`recipes/${page}.md`, 'recipe');
  const app = await NestFactory.create(recipe.AppModule, { rawBody: true, logger: false });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const get = (name: string): unknown => app.get(recipe[name]!);
  return { app, jobs: app.get(JobQueueService), url: `http://127.0.0.1:${port}`, exports: recipe as Exports, get };
}
