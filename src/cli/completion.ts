import type { OutputStream } from './host-process.js';
import { Argument, type Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Prints the completion script of a shell. It does not call Redis, so it is quick. */
export function addCompletion(program: Command, stdout: OutputStream): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .description('prints the completion for a shell; see docs/cli.md')
    .action((shell: (typeof SHELLS)[number]) => {
      stdout.write(SCRIPTS[shell](program));
    });
}

const SCRIPTS: Record<(typeof SHELLS)[number], (program: Command) => string> = {
  bash: (program) => `${words(program)}
complete -o default -F _nest_job_queue nest-job-queue
`,
  zsh: (program) => `(( $+functions[compdef] )) || { autoload -U +X compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit
${words(program)}
complete -o default -F _nest_job_queue nest-job-queue
`,
  fish,
};

function optionsOf(command: Command): string[] {
  return command.options.flatMap(({ long }) => long ?? []);
}

/** Returns the words that an argument of a command is one of. */
function choicesOf(command: Command): readonly string[] {
  return command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
}

/** Returns a function of bash that completes the word under the cursor. */
function words(program: Command): string {
  const cases = program.commands.map((command) => {
    const known = [...choicesOf(command), ...optionsOf(command), ...optionsOf(program)];
    return `    ${command.name()}) words="${known.join(' ')}" ;;`;
  });
  const valued = program.options.filter(({ required }) => required).flatMap(({ long }) => long ?? []);
  return `_nest_job_queue() {
  local words="" command="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued.join('|')})
        i=$((i + 1))
        while [[ "\${COMP_WORDS[i + 1]}" == :* ]]; do i=$((i + 2)); done ;; # bash parts an address at its colons
      -*) ;;
      *) command="\${COMP_WORDS[i]}"; break ;;
    esac
  done
  case "$command" in
    "") words="${[...program.commands.map((command) => command.name()), ...optionsOf(program)].join(' ')}" ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}`;
}

function fish(program: Command): string {
  const lines = program.commands.flatMap((command) => [
    `complete -c nest-job-queue -n __fish_use_subcommand -a ${command.name()} -d ${quoted(command.description())}`,
    ...choiceLines(command),
    ...optionLines(command, `-n "__fish_seen_subcommand_from ${command.name()}" `),
  ]);
  const noFiles = 'complete -c nest-job-queue -f'; // no command takes a file
  return `${[noFiles, ...lines, ...optionLines(program, '')].join('\n')}\n`;
}

function choiceLines(command: Command): string[] {
  const choices = choicesOf(command);
  const condition = `-n "__fish_seen_subcommand_from ${command.name()}"`;
  return choices.length > 0 ? [`complete -c nest-job-queue ${condition} -a ${quoted(choices.join(' '))}`] : [];
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
