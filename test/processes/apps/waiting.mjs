// The entry of waiting.ts for `fork`, which passes no loader on.
import '../../support/typescript.mjs';

await import('./waiting.ts');
