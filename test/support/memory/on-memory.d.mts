import type { Config } from 'jest';

export function runsInMemory(spec: string): boolean;
export function onMemory(project: Config, isRest?: boolean): Config;
