/** A refusal's HTTP status and, if a client sees more than its text, the parameters that stand in the body. */
export type Definition = number | { status: number; fields: readonly string[] };
