/**
 * The limits of Supabase's smallest plan, as its documentation says in 2026: "Edge Functions, Limits" and, for functions
 * that are bundled by the platform, "Edge Function bundle size issues".
 */
export const limits = {
  /** Functions of a project. */
  functions: 100,
  /** Bytes of one function that the platform bundles. */
  bundleBytes: 5_000_000,
  /** Bytes of one secret. */
  secretBytes: 24_576,
} as const;
