/**
 * A refusal's HTTP status and, if a client sees more than its text, the parameters that stand in the body. `field` is the one that a
 * constraint of this name is about.
 */
export type Definition = number | { status: number; fields: readonly string[]; field?: string };
