import type { FactoryProvider, InjectionToken } from '@nestjs/common';

/** Returns a provider of a class that takes its dependencies as one object: the token of each part. */
export function provideByParts<Parts extends object>(
  provide: new (parts: Parts) => object,
  tokens: Readonly<Record<keyof Parts, InjectionToken>>,
): FactoryProvider {
  const names = Object.keys(tokens);
  return {
    provide,
    useFactory: (...found: unknown[]) =>
      new provide(Object.fromEntries(names.map((name, i) => [name, found[i]])) as Parts),
    inject: Object.values(tokens),
  };
}
