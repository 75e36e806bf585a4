import type { DynamicModule } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import type { ModuleRef, NestContainer } from '@nestjs/core';
import { containerOf } from '../context/container-of.js';
import { CONNECTION_NAME, DEFAULT_CONNECTION } from '../connection/connection-tokens.js';

/** A module of the app with its own imports. Nest adds every global module to those of each module. */
interface Importer {
  name: string;
  metatype: unknown;
  imports: unknown[];
}

/** Returns the modules that import a connection, for an error: `, in AppModule and ReportsModule`. */
export function importersInWords(ref: ModuleRef, connection: string): string {
  const all = importersIn(containerOf(ref));
  const found = all.flatMap((each) => each.imports.filter((it) => isRoot(it, connection)).map(() => each));
  const shown = found.map((each) =>
    found.some((other) => other !== each && other.name === each.name)
      ? `${each.name} (imported by ${namesOf(all.filter(({ imports }) => imports.some((it) => typeOf(it) === each.metatype)))})`
      : each.name,
  );
  return shown.length === 0 ? '' : `, in ${[...new Set(shown)].join(' and ')}`;
}

function importersIn(container: NestContainer): Importer[] {
  return [...container.getModules().values()].map(({ name, metatype, token }) => ({
    name,
    metatype,
    imports: [
      ...((Reflect.getMetadata(MODULE_METADATA.IMPORTS, metatype) as unknown[] | undefined) ?? []),
      ...(container.getDynamicMetadataByToken(token, 'imports') as unknown[]),
    ],
  }));
}

/** Returns whether an import is the `forRoot` of a connection. It imports the core module, which has the name. */
function isRoot(imported: unknown, connection: string): boolean {
  const { imports } = (imported ?? {}) as Partial<DynamicModule>;
  const core = (Array.isArray(imports) ? imports[0] : undefined) as Partial<DynamicModule> | undefined;
  const named = core?.providers?.find((each) => 'provide' in each && each.provide === CONNECTION_NAME);
  return named !== undefined && ((named as { useValue?: unknown }).useValue ?? DEFAULT_CONNECTION) === connection;
}

function typeOf(imported: unknown): unknown {
  return (imported as Partial<DynamicModule> | null)?.module ?? imported;
}

function namesOf(importers: readonly Importer[]): string {
  return importers.map(({ name }) => name).join(' and ') || 'the root';
}
