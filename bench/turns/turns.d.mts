export class Turns {
  constructor(order: Iterable<string>);
  take<Result>(contestant: string, use: () => Promise<Result>): Promise<Result>;
  leave(contestant: string): void;
}
