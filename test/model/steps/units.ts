/** All durations of the sequences are whole minutes: the ms that the steps themselves take then decide nothing. */
export const MINUTE = 60_000;
