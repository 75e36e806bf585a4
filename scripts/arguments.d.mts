import type { ParseArgsConfig, parseArgs } from 'node:util';

/** The options of parseArgs, with what --help says of each. */
export type DescribedConfig = Omit<ParseArgsConfig, 'options'> & {
  options: Record<string, NonNullable<ParseArgsConfig['options']>[string] & { about: string }>;
};

export function argumentsOf<const Config extends DescribedConfig>(
  command: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>>;
