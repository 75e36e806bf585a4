/** Has no types of its own. */
declare module 'cluster-key-slot' {
  /** Returns the slot of a key, 0 to 16,383, by its hash tag if it has one. */
  export default function slotOf(key: string): number;
}
