export interface Order {
  totalCents: number;
}

/** Returns the orders of one month; in life they come from a database. */
export function ordersOf(year: number, month: number): Promise<Order[]> {
  const count = 20 + ((year + month) % 12);
  return Promise.resolve(Array.from({ length: count }, (_, i) => ({ totalCents: 500 + ((i * 137) % 9_500) })));
}
