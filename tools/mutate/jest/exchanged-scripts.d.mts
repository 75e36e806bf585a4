export class ExchangedScripts {
  constructor(pairs: readonly (readonly [right: string, changed: string])[]);
  isSent: boolean;
  exchange(command: { name: string; args: unknown[] }): void;
}
