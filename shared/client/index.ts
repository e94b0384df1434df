/** The package `barid`: what programs that call Barid need. */
export { type Barid, type BaridOptions, createBarid } from "./client.ts";
export { BaridError, type ErrorCode, isRefusal, unwrap } from "./refusal.ts";
export { retryingFetch, type RetryOptions } from "./retry.ts";
export type { components, paths } from "./paths.d.ts";
