/** All durations of the sequences are whole minutes, so that the ms of the steps themselves do not matter. */
export const MINUTE = 60_000;
