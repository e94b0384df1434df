/** Barid's version, written by `npm run release`. */
export const version = "1.9.2";

/** The schema that the functions need, that one or a newer: the time of its migration, written by `npm run db:migration`. */
export const neededSchema = "20261201105808";
