import { Argument, type Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Prints the completion script of a shell. It does not call Redis, so it is quick. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .description('prints the completion for a shell; see docs/cli.md')
    .action((shell: (typeof SHELLS)[number]) => {
      process.stdout.write(SCRIPTS[shell](program));
    });
}

const SCRIPTS: Record<(typeof SHELLS)[number], (program: Command) => string> = {
  bash: (program) => `${words(program)}
complete -o default -F _nest_job_queue nest-job-queue
`,
  zsh: (program) => `autoload -U +X bashcompinit && bashcompinit
${words(program)}
complete -o default -F _nest_job_queue nest-job-queue
`,
  fish,
};

function optionsOf(command: Command): string[] {
  return command.options.flatMap(({ long }) => long ?? []);
}

function words(program: Command): string {
  const cases = program.commands.map(
    (command) => `    ${command.name()}) words="${[...optionsOf(command), ...optionsOf(program)].join(' ')}" ;;`,
  );
  return `_nest_job_queue() {
  local words=""
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${[...program.commands.map((command) => command.name()), ...optionsOf(program)].join(' ')}"
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}`;
}

function fish(program: Command): string {
  const lines = program.commands.flatMap((command) => [
    `complete -c nest-job-queue -n __fish_use_subcommand -a ${command.name()} -d ${quoted(command.description())}`,
    ...optionLines(command, `-n "__fish_seen_subcommand_from ${command.name()}" `),
  ]);
  return `${[...lines, ...optionLines(program, '')].join('\n')}\n`;
}

function optionLines(command: Command, condition: string): string[] {
  return command.options.map(
    ({ long, description }) =>
      `complete -c nest-job-queue ${condition}-l ${(long ?? '').slice(2)} -d ${quoted(description)}`,
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
